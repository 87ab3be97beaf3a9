"""Many meta-iterations in one XLA program, for networks so small that launching a program takes as long as running it."""

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from stochlwta_tf.learners.task_runner import TaskRunner, own_function
from stochlwta_tf.tasks.task import Task


def compiled_loop(learner: Any, iterations: int) -> Callable:
    """The training function of a learner, for Keras, that makes several meta-iterations in one XLA program, outer steps and metrics too.

    As Keras's own with `steps_per_execution`, up to rounding: it stops at the end of the data, and before an update that is not finite.

    Args:
        learner: A compiled `MetaLearner` whose tasks run vectorised under XLA.
        iterations: Meta-iterations in a call.

    Returns:
        A function of a `tf.data` iterator of batches that returns the logs of the last iteration.

    Example:

    >>> learner.compile("adam", steps_per_execution=100, jit_compile=True)  # makes `fit` use it
    """
    # In one shard: XLA runs what is independent side by side itself, and would compile every shard anew.
    update = TaskRunner(vectorized=True, xla=True, parallel_tasks=1).mean(learner.task_update)

    def loop(batches: dict[str, tf.Tensor], count: tf.Tensor) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        def iteration(i: tf.Tensor, finite: tf.Tensor, logs: dict[str, tf.Tensor]) -> tuple:
            tasks = Task(**{name: tf.gather(values, i) for name, values in batches.items()})
            gradient, (loss, score) = update(*learner.current_values(), tasks)
            finite = learner.is_finite_update(gradient, loss)
            logs = tf.cond(finite, lambda: learner.outer_step(gradient, loss, score), lambda: logs)
            return i + 1, finite, logs

        def goes_on(i: tf.Tensor, finite: tf.Tensor, _: Any) -> tf.Tensor:
            return finite & (i < count)

        start = (tf.constant(0), tf.constant(True), learner.empty_logs())
        return tf.while_loop(goes_on, iteration, start, maximum_iterations=iterations)[1:]

    program = own_function(loop, jit_compile=True)

    def execute(iterator: tf.data.Iterator) -> tuple[tf.Tensor, dict[str, tf.Tensor]]:
        batches, count = _next_batches(iterator, iterations)
        finite, logs = program(batches, count)
        with tf.control_dependencies([learner.assert_finite(finite)]):
            return tf.identity(count), tf.nest.map_structure(tf.identity, logs)

    execute = own_function(execute, reduce_retracing=True)

    def train_function(iterator: tf.data.Iterator) -> dict[str, tf.Tensor]:
        count, logs = execute(iterator)
        if not count:
            raise StopIteration
        return logs

    return train_function


def _next_batches(iterator: tf.data.Iterator, most: int) -> tuple[dict[str, tf.Tensor], tf.Tensor]:
    """The next batches of an iterator, stacked, and how many there are; zeros take the place of those after the end of the data."""
    spec = iterator.element_spec

    def take(i: tf.Tensor, batch: tf.experimental.Optional, taken: dict) -> tuple:
        taken = {name: taken[name].write(i, value) for name, value in batch.get_value().items()}
        none = tf.experimental.Optional.empty(spec)
        return i + 1, tf.cond(i + 1 < most, iterator.get_next_as_optional, lambda: none), taken

    empty = {name: tf.TensorArray(each.dtype, most, element_shape=each.shape) for name, each in spec.items()}
    start = (tf.constant(0), iterator.get_next_as_optional(), empty)
    count, _, taken = tf.while_loop(lambda i, batch, _: batch.has_value(), take, start, maximum_iterations=most, parallel_iterations=1)
    return {name: values.stack() for name, values in taken.items()}, count
