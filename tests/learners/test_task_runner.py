"""Many tasks at once give what one task at a time gives, whichever the runner."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks, random
from stochlwta_tf.learners import StochLWTA
from stochlwta_tf.learners.task_runner import TaskRunner, shard_sizes
from stochlwta_tf.learners.vectorizable import has_convolution
from stochlwta_tf.tasks.task import Task


def task_batch(count, shape):
    values = np.random.default_rng(0)
    x = values.normal(size=(2, count, 4, *shape)).astype("float32")
    y = values.integers(0, 2, (2, count, 4)).astype("int32")
    x[:, 1], y[:, 1] = x[:, 0], y[:, 0]  # two tasks that differ in their keys alone
    return Task(tf.constant(x[0]), tf.constant(y[0]), tf.constant(x[1]), tf.constant(y[1]), random.split(random.key_from_seed(0), count))


def network(convolutional):
    keras.utils.set_random_seed(0)
    options = {"activation": "stochastic_lwta", "weights": "gaussian", "rho_initial": -2.0}
    if convolutional:
        return networks.conv4((4, 4, 1), 2, filters=2, **options), (4, 4, 1)
    return networks.dense_lwta((2,), 2, blocks=(2,), **options), (2,)


@pytest.mark.parametrize(
    ("convolutional", "runner", "parallel_tasks"),
    [
        pytest.param(False, "vectorized", 2, marks=pytest.mark.slow),
        pytest.param(False, "vectorized", 3, marks=pytest.mark.slow),  # whose shards are of two sizes, each compiled
        pytest.param(True, "loop", 2, marks=pytest.mark.slow),
    ],
)
def test_a_batch_is_its_tasks_one_at_a_time(convolutional, runner, parallel_tasks):
    net, shape = network(convolutional)
    learner = StochLWTA(net, inner_lr=0.02, inner_steps=2, inner_batch=2, draws=2, runner=runner, parallel_tasks=parallel_tasks)
    tasks = task_batch(4, shape)
    psi, state = learner.current_values()
    one_by_one = [Task(*(t[i] for t in tasks)) for i in range(4)]

    updates = [learner.task_update(psi, state, task) for task in one_by_one]
    expected = tf.nest.map_structure(lambda *parts: np.mean(parts, axis=0), *updates)
    tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, atol=2e-5, rtol=1e-4), learner.meta_gradient(tasks), expected)

    draws = learner.predict_tasks(tasks)
    assert draws.shape == (4, 2, 4, 2)
    assert not np.allclose(draws[0], draws[1])
    predict = tf.function(learner.task_predict, autograph=False)
    np.testing.assert_allclose(draws, [predict(psi, state, task) for task in one_by_one], atol=2e-4)
    tf.nest.map_structure(np.testing.assert_array_equal, learner.meta_gradient(tasks), learner.meta_gradient(tasks))


@pytest.mark.parametrize("vectorized", [True, False])
@pytest.mark.parametrize("parallel_tasks", [1, 2, 4, 5])
def test_shards_keep_the_order_and_the_mean(vectorized, parallel_tasks):
    runner = TaskRunner(vectorized, xla=vectorized, parallel_tasks=parallel_tasks)
    tasks = task_batch(6, (2,))
    weights, state = [tf.constant([1.0, 2.0])], [tf.constant(3.0)]

    def sums(weights, state, task):
        return tf.reduce_sum(task.support_x * weights[0]) + state[0] * tf.cast(task.support_y[0], tf.float32)

    def update(weights, state, task):
        total = sums(weights, state, task)
        return [total * weights[0]], (total, total**2)

    expected = np.sum(tasks.support_x * np.array([1.0, 2.0], "float32"), (1, 2)) + 3 * tasks.support_y.numpy()[:, 0]
    np.testing.assert_allclose(runner.map(sums)(weights, state, tasks), expected, rtol=1e-5)
    (gradient,), (mean, square) = runner.mean(update)(weights, state, tasks)
    np.testing.assert_allclose(gradient, expected.mean() * np.array([1, 2]), rtol=1e-5)
    np.testing.assert_allclose([mean, square], [expected.mean(), np.mean(expected**2)], rtol=1e-5)


@pytest.mark.parametrize(
    ("count", "parallel", "sizes"),
    [(25, 2, [13, 12]), (50, 2, [25, 25]), (65, 4, [17, 16, 16, 16]), (1, 2, [1]), (3, 8, [1, 1, 1]), (7, 1, [7])],
)
def test_every_core_has_a_shard_whatever_the_number_of_tasks(count, parallel, sizes):
    assert shard_sizes(count, parallel) == sizes


def test_no_inner_steps_are_no_meta_gradient():
    learner = StochLWTA(network(convolutional=False)[0], inner_steps=0, inner_batch=2)
    gradient, _ = learner.meta_gradient(task_batch(2, (2,)))
    assert all(np.all(g == 0) for g in gradient)


def test_the_runner_follows_from_the_network():
    dense, convolutional = network(False)[0], network(True)[0]
    assert not has_convolution(dense) and has_convolution(convolutional)
    assert TaskRunner.for_network(dense).vectorized and not TaskRunner.for_network(convolutional).vectorized
    assert not TaskRunner.for_network(dense, "loop").vectorized
    assert TaskRunner.for_network(dense, parallel_tasks=3).parallel_tasks == 3
    if not tf.config.list_physical_devices("GPU"):
        assert TaskRunner.for_network(dense).xla and not TaskRunner.for_network(convolutional).xla


@pytest.mark.parametrize("vectorized", [False, True])
@pytest.mark.parametrize("count", [0, 3])
def test_repeated_steps_are_those_of_python(vectorized, count):
    runner = TaskRunner(vectorized, xla=vectorized, parallel_tasks=1)

    def double(i, values, steps):
        return [2 * v for v in values], steps + i

    def repeated(values, state, task, count=count):
        return runner.repeat(double, count, values, task.key)

    key = tf.constant([[10], [20]])
    tasks = Task(*(tf.zeros([2, 1]) for _ in range(4)), key)
    values, steps = runner.map(repeated)([tf.constant([1.0, 2.0])], [], tasks)
    expected = repeated([tf.constant([1.0, 2.0])], [], Task(*(t[1] for t in tasks)))
    np.testing.assert_array_equal(values[0], 2**count * np.array([[1.0, 2.0], [1.0, 2.0]]))
    np.testing.assert_array_equal(steps, key + sum(range(count)))
    np.testing.assert_array_equal(expected[0][0], values[0][1])
