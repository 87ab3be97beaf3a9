"""Many tasks at once give what one task at a time gives, whichever the runner."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks, random
from stochlwta_tf.learners import StochLWTA
from stochlwta_tf.learners.task_runner import TaskRunner, has_convolution
from stochlwta_tf.tasks.task import Task


def task_batch(count, shape):
    values = np.random.default_rng(0)
    x = values.normal(size=(2, count, 4, *shape)).astype("float32")
    y = values.integers(0, 2, (2, count, 4)).astype("int32")
    return Task(tf.constant(x[0]), tf.constant(y[0]), tf.constant(x[1]), tf.constant(y[1]), random.split(random.key_from_seed(0), count))


def network(convolutional):
    keras.utils.set_random_seed(0)
    options = {"activation": "stochastic_lwta", "weights": "gaussian", "rho_initial": -2.0}
    if convolutional:
        return networks.conv4((4, 4, 1), 2, filters=2, **options), (4, 4, 1)
    return networks.dense_lwta((2,), 2, blocks=(2,), **options), (2,)


@pytest.mark.parametrize(
    ("convolutional", "runner", "parallel_tasks"),
    [(False, "vectorized", 1), (False, "vectorized", 4), (False, "loop", 2), (True, "loop", 2)],
)
def test_a_batch_is_its_tasks_one_at_a_time(convolutional, runner, parallel_tasks):
    net, shape = network(convolutional)
    learner = StochLWTA(net, inner_lr=0.02, inner_steps=2, inner_batch=2, draws=2, runner=runner, parallel_tasks=parallel_tasks)
    tasks = task_batch(6, shape)  # which 4 does not divide: it is cut into 3 shards
    psi, state = learner.current_values()
    one_by_one = [Task(*(t[i] for t in tasks)) for i in range(6)]

    update = tf.function(learner.task_update, autograph=False)
    updates = [update(psi, state, task) for task in one_by_one]
    expected = tf.nest.map_structure(lambda *parts: np.mean(parts, axis=0), *updates)
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5, rtol=1e-4), learner.meta_gradient(tasks), expected)

    draws = learner.predict_tasks(tasks)
    assert draws.shape == (6, 2, 4, 2)
    predict = tf.function(learner.task_predict, autograph=False)
    np.testing.assert_allclose(draws, [predict(psi, state, task) for task in one_by_one], atol=2e-4)
    tf.nest.map_structure(np.testing.assert_array_equal, learner.meta_gradient(tasks), learner.meta_gradient(tasks))


def test_tasks_with_the_same_data_get_different_noise():
    net, shape = network(convolutional=False)
    learner = StochLWTA(net, inner_steps=1, draws=1)
    tasks = task_batch(2, shape)
    same = Task(*(tf.stack([t[0], t[0]]) for t in tasks[:4]), tasks.key)
    first, second = learner.predict_tasks(same)
    assert not np.allclose(first, second)


def test_the_runner_follows_from_the_network():
    dense, convolutional = network(False)[0], network(True)[0]
    assert not has_convolution(dense) and has_convolution(convolutional)
    assert TaskRunner.for_network(dense).vectorized and not TaskRunner.for_network(convolutional).vectorized
    assert not TaskRunner.for_network(dense, "loop").vectorized
    assert TaskRunner.for_network(dense, parallel_tasks=3).parallel_tasks == 3
    if not tf.config.list_physical_devices("GPU"):
        assert TaskRunner.for_network(dense).xla and not TaskRunner.for_network(convolutional).xla
