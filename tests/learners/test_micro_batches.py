"""A batch in parts, and over replicas, has the mean of the whole."""

import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks, random
from stochlwta_tf.learners import LEARNERS
from stochlwta_tf.learners.micro_batches import MicroBatches
from stochlwta_tf.learners.replicas import Replicas
from stochlwta_tf.learners.task_runner import TaskRunner
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_learners import point_classes, point_mlp, tiny_lwta
from tests.helpers.small_tasks import image_tasks

COUNT = 6


def tasks():
    values = np.random.default_rng(0)
    x, y = (tf.constant(values.normal(size=(COUNT, 4, 1)), "float32") for _ in range(2))
    return Task(x, y, x, y, random.split(random.key_from_seed(0), COUNT))


def update(weights, state, task):
    """A gradient that depends on the task's key, as noise does."""
    noise = random.normal(task.key, weights[0].shape)
    error = tf.reduce_mean(task.support_x * task.support_y)
    return [error * weights[0] + noise], (error, tf.reduce_sum(noise))


def divided(how, vectorized):
    runner = TaskRunner(vectorized, xla=False, parallel_tasks=2)
    if how == "whole":
        return runner
    return MicroBatches(runner, 2) if how == "parts" else Replicas(runner, tf.distribute.MirroredStrategy(["/device:CPU:0"]), 1)


@pytest.mark.parametrize("vectorized", [True, False])
def test_parts_and_replicas_have_the_mean_and_the_order_of_the_whole(vectorized):
    weights = [tf.constant([1.0, 2.0, 3.0])]
    expected = divided("whole", vectorized).mean(update)(weights, [], tasks())
    scores = divided("whole", vectorized).map(lambda w, s, task: update(w, s, task)[1])(weights, [], tasks())
    for how in ("parts", "replicas"):
        found = divided(how, vectorized).mean(update)(weights, [], tasks())
        tf.nest.map_structure(lambda a, b: np.testing.assert_allclose(a, b, rtol=1e-6), found, expected)
        mapped = divided(how, vectorized).map(lambda w, s, task: update(w, s, task)[1])(weights, [], tasks())
        tf.nest.map_structure(np.testing.assert_array_equal, mapped, scores)


def test_a_batch_that_a_part_does_not_divide_is_refused():
    with pytest.raises(ValueError, match="must be a multiple of `micro_batch`. Received: 6 tasks, micro_batch=4"):
        MicroBatches(TaskRunner(False, xla=False, parallel_tasks=1), 4).mean(update)([tf.zeros([3])], [], tasks())


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "convolutions"])
@pytest.mark.parametrize("name", sorted(LEARNERS))
def test_every_learner_has_the_gradient_of_the_whole_batch(name, kind):
    if kind == "dense":
        network, tasks = tiny_lwta() if name == "stochlwta" else point_mlp(), point_classes(4)
    else:
        network, tasks = networks.conv4((8, 8, 1), 3, filters=3), image_tasks("float32", count=4)
    learner = LEARNERS[name](network, inner_steps=2)
    found = []
    for micro_batch in (None, 2, 1):
        learner.compile("sgd", micro_batch=micro_batch)
        found.append(tf.nest.map_structure(lambda t: t.numpy(), learner.meta_gradient(tasks)))
    expected, *others = found
    scale = max(np.abs(gradient).max() for gradient in expected[0])
    for other in others:
        for a, b in zip(other[0], expected[0], strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6 * scale)
        np.testing.assert_allclose(other[1], expected[1], rtol=1e-6)
