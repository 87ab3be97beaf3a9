"""What is not finite stops training, and the message names the term."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks
from stochlwta_tf.learners import Reptile, StochLWTA
from stochlwta_tf.learners.non_finite import explain_failure
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_learners import WAY, point_classes, tiny_lwta
from tests.helpers.small_tasks import point_tasks


@pytest.mark.parametrize(
    ("rate", "clip", "goes_on"),
    [(1e20, {}, False), (1e20, {"clipnorm": 10.0}, True), (1e20, {"global_clipnorm": 1.0}, False), (3e37, {"clipnorm": 1e3}, False)],
)
def test_a_gradient_whose_square_overflows_stops_training_unless_it_is_clipped(rate, clip, goes_on):
    """Adam's second moment would be infinite from then on, and the weight stand still without a word."""
    keras.utils.set_random_seed(0)
    learner = Reptile(networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", inner_lr=rate, inner_steps=1)
    learner.compile(keras.optimizers.Adam(0.001, **clip))
    tasks = point_tasks(count=2)
    assert all(np.isfinite(g).all() for g in learner.meta_gradient(tasks)[0])
    data = tf.data.Dataset.from_tensors(tasks._asdict())
    if goes_on:
        learner.fit(data, verbose=0)
        assert all(np.isfinite(v).all() for v in learner.optimizer.variables)
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
            learner.fit(data, verbose=0)
        assert explain_failure(learner, tasks).startswith("task 0, meta-gradient of ")


def test_an_explanation_names_the_term():
    learner = StochLWTA(tiny_lwta(), inner_steps=2)
    tasks = point_classes(2)
    learner.network.get_layer("output").mean.assign(np.full((4, WAY), 1e20))  # its square overflows, the outputs do not
    assert explain_failure(learner, tasks) == "task 0, inner step 0: loss of the weights of output"
    assert explain_failure(learner, Task(*(t[:0] for t in tasks))) == "the batch as a whole (no single term of a task alone)"
