"""Small tasks, and finite differences, for the tests of several learners."""

import numpy as np
import tensorflow as tf

from stochlwta_tf.tasks import Sinusoid, Task


def image_tasks(dtype="float64", count=2, way=3, size=8, regression=False):
    rng = np.random.default_rng(0)

    def examples(n):
        x = tf.constant(rng.random((count, n * way, size, size, 1)), dtype)
        if regression:
            return x, tf.constant(rng.normal(size=(count, n * way, 1)), dtype)
        return x, tf.constant(np.tile(np.repeat(np.arange(way), n), (count, 1)), tf.int32)

    return Task(*examples(1), *examples(2), tf.constant(rng.integers(0, 2**31, (count, 2)), tf.uint32))


def point_tasks(dtype="float32", count=4):
    tasks = Sinusoid("train", batch=count, seed=3, shot=4, train_queries=5).sample(0)
    return Task(*(tf.cast(t, dtype) for t in tasks[:4]), tasks.key)


def line_task(dtype="float64"):
    """One regression task, y ≈ 1.5 x."""
    rng = np.random.default_rng(2)
    x = rng.normal(size=(7, 1))
    y = 1.5 * x + 0.3 * rng.normal(size=(7, 1))
    x, y = tf.constant(x, dtype), tf.constant(y, dtype)
    return Task(x[:4], y[:4], x[4:], y[4:], tf.constant([1, 2], tf.uint32))


def one(tasks, i):
    return Task(*(t[i] for t in tasks))


def slopes(function, start, step=1e-6):
    """Central differences of a function of arrays of one number each."""
    start = [np.asarray(v, "float64").copy() for v in start]
    result = []
    for v in start:
        ends = []
        for sign in (1, -1):
            v += sign * step
            ends.append(function(*start))
            v -= sign * step
        result.append((ends[0] - ends[1]) / (2 * step))
    return result


def finite_difference_error(learner, tasks, directions=2, step=1e-6):
    """The largest relative error of the meta-gradient along random directions."""
    rng = np.random.default_rng(1)
    variables = learner.trainable_variables
    start = [v.numpy() for v in variables]
    gradient = [g.numpy() for g in learner.meta_gradient(tasks)[0]]
    errors = []
    for _ in range(directions):
        direction = [rng.normal(size=v.shape) for v in start]
        losses = []
        for sign in (1, -1):
            for variable, value, d in zip(variables, start, direction):
                variable.assign(value + sign * step * d)
            losses.append(float(learner.meta_gradient(tasks)[1][0]))
        for variable, value in zip(variables, start):
            variable.assign(value)
        slope = (losses[0] - losses[1]) / (2 * step)
        expected = sum((g * d).sum() for g, d in zip(gradient, direction))
        errors.append(abs(slope - expected) / abs(expected))
    return max(errors)
