"""Meta-iterations in one XLA program are those of Keras's loop."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf.learners import LEARNERS, StochLWTA
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_learners import point_classes, point_mlp, tiny_lwta


def batches(count, bad=None):
    """Batches of two tasks; one of them has a NaN in a support set."""
    tasks = {name: np.stack(parts) for name, parts in zip(Task._fields, zip(*(point_classes(2, seed=s) for s in range(count))))}
    if bad is not None:
        tasks["support_x"][bad, 1, 2, 0] = np.nan
    return tf.data.Dataset.from_tensor_slices(tasks)


def compiled(jit_compile, steps=4, make=lambda: StochLWTA(tiny_lwta(rho_initial=-2.0), inner_lr=0.05, inner_steps=2)):
    keras.utils.set_random_seed(0)
    learner = make()
    rate = keras.optimizers.schedules.PolynomialDecay(0.05, 9, 0.01)
    learner.compile(keras.optimizers.Adam(rate), steps_per_execution=steps, jit_compile=jit_compile)
    return learner


def assert_same_variables(whole, separate):
    variables, others = ([*learner.variables, *learner.optimizer.variables] for learner in (whole, separate))
    for v, other in zip(variables, others, strict=True):
        np.testing.assert_allclose(v, other, rtol=1e-4, atol=1e-6, err_msg=v.path)


def assert_same_training(whole, separate, data):
    histories = [learner.fit(data, verbose=0).history for learner in (whole, separate)]
    assert_same_variables(whole, separate)
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-4), *histories)


def test_weights_optimizer_and_metrics_are_those_of_separate_iterations():
    whole, separate = compiled(True), compiled(False)
    assert_same_training(whole, separate, batches(10))  # the last of three executions has two batches
    assert int(whole.optimizer.iterations) == 10
    # A batch that is not finite ends the training after the ones before it.
    for learner in (whole, separate):
        with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
            learner.fit(batches(8, bad=6), verbose=0)
        assert int(learner.optimizer.iterations) == 16
    assert_same_variables(whole, separate)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(LEARNERS) - {"stochlwta"}))
def test_every_learner_trains_as_by_separate_iterations(name):
    make = lambda: LEARNERS[name](point_mlp(), inner_lr=0.05, inner_steps=2)  # noqa: E731
    assert_same_training(compiled(True, 2, make), compiled(False, 2, make), batches(4))


def test_where_tasks_do_not_run_in_one_program_iterations_are_separate(monkeypatch):
    def refuse(*_):
        raise AssertionError("one program")

    monkeypatch.setattr("stochlwta_tf.learners.outer_loop.compiled_loop", refuse)
    learner = compiled(True)
    with pytest.raises(AssertionError, match="one program"):
        learner.fit(batches(1), verbose=0)
    compiled(True, make=lambda: StochLWTA(tiny_lwta(), runner="loop", inner_steps=1)).fit(batches(1), verbose=0)

    class Counting(StochLWTA):
        def train_step(self, data):
            return super().train_step(data)

    compiled(True, make=lambda: Counting(tiny_lwta(), inner_steps=1)).fit(batches(1), verbose=0)
