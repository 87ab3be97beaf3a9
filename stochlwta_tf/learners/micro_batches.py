"""Batches of tasks in several parts, one after another: memory for a part, the gradient of the whole."""

from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from stochlwta_tf.learners.task_runner import TaskRunner, own_function
from stochlwta_tf.tasks.task import Task


class MicroBatches:
    """A `TaskRunner` whose mean over a batch is accumulated over parts of it:

        mean over the batch = (1/n) sum_{i=1..n} mean over part i

    Args:
        runner: The `TaskRunner` of a part.
        size: Tasks in a part; it must divide the batch.

    Raises:
        ValueError: If it does not, when a batch comes.

    Example:

    >>> update = MicroBatches(learner.task_runner, 8).mean(learner.task_update)
    """

    def __init__(self, runner: TaskRunner, size: int) -> None:
        self._runner, self._size = runner, size
        self.map = runner.map

    def mean(self, function: Callable) -> Callable:
        """As `TaskRunner.mean`."""
        of_part = self._runner.mean(function)

        def batched(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Task) -> Any:
            count = tasks.key.shape[0]
            if count is None or count % self._size:
                raise ValueError(f"A batch must be a multiple of `micro_batch`. Received: {count} tasks, micro_batch={self._size}")
            if count == self._size:
                return of_part(weights, state, tasks)
            parts = count // self._size
            pieces = [tf.reshape(t, [parts, self._size, *t.shape[1:]]) for t in tasks]

            def add(i: tf.Tensor, total: Any) -> tuple:
                return i + 1, tf.nest.map_structure(tf.add, total, of_part(weights, state, Task(*(p[i] for p in pieces))))

            zero = tf.zeros([], weights[0].dtype)
            start = (tf.constant(0), ([tf.zeros_like(w) for w in weights], (zero, zero)))
            _, total = tf.while_loop(lambda i, _: i < parts, add, start, maximum_iterations=parts, parallel_iterations=1)
            return tf.nest.map_structure(lambda t: t / parts, total)

        return own_function(batched)
