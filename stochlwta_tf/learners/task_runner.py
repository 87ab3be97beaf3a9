"""Many tasks at once: two ways to map a function of one task over a batch, behind one interface."""

import functools
import os
from collections.abc import Callable, Sequence
from typing import Any, Literal

import keras
import tensorflow as tf

from stochlwta_tf.learners.vectorizable import compiles, has_convolution, is_recurrent
from stochlwta_tf.tasks.task import Task


class TaskRunner:
    """Compiles a pure function of one task into one of a batch of tasks.

    - Vectorized: `tf.vectorized_map` inside an XLA program. For dense networks on any device. On a CPU, XLA runs the small operations of
      such a program on one core, so the batch is cut into shards, which run side by side; their sizes differ by one task if the number of
      shards does not divide the batch.
    - Loop: one `tf.while_loop` over the tasks, on a CPU without XLA. For networks with convolutions, whose per-task kernels cannot be
      vectorised, and which XLA runs much slower on a CPU.

    A batch gives the same numbers as its tasks one at a time, up to rounding, because all noise comes from the task's own key.

    Args:
        vectorized: Which of the two.
        xla: Whether to compile with XLA.
        parallel_tasks: Shards of a vectorized batch, at most one per task, or tasks that a loop may run at once, which takes more
            memory.
        dtype: Type of the weights, and of the outputs.

    Example:

    >>> runner = TaskRunner.for_network(network)
    >>> update = runner.mean(task_update)
    >>> gradient, (loss, score) = update(weights, state, tasks)
    """

    def __init__(self, vectorized: bool, xla: bool, parallel_tasks: int, dtype: str = "float32") -> None:
        self.vectorized = vectorized
        self.xla = xla
        self.dtype = dtype
        self.parallel_tasks = parallel_tasks
        # Grappler rewrites large sums to accumulate in order of arrival, so that repeats of one step differ in their last bits, and it
        # breaks the gradient of a loop within a loop. There is no per-function switch; and it is off for every runner, because the bits
        # of a run must not depend on what else its process has created.
        tf.config.optimizer.set_experimental_options({"disable_meta_optimizer": True})

    @classmethod
    def for_network(
        cls, network: keras.Model, runner: Literal["auto", "vectorized", "loop"] = "auto", parallel_tasks: int | None = None
    ) -> "TaskRunner":
        """The runner for a network.

        Args:
            network: A built `keras.Model`.
            runner: `"vectorized"`, `"loop"`, or `"auto"`: a loop if the network has convolutions, recurrent layers, or a layer that cannot
                be vectorised; see `vectorizable`.
            parallel_tasks: As for the class; by default the number of cores, or 1 on a GPU.

        Raises:
            ValueError: If a recurrent network is to be vectorised.
        """
        if runner == "vectorized" and is_recurrent(network):
            raise ValueError("Recurrent layers cannot be vectorised: use runner='loop' or 'auto'. Received: runner='vectorized'")
        on_cpu = not tf.config.get_visible_devices("GPU")
        convolutional = has_convolution(network)
        vectorized = not convolutional and compiles(network, vectorized=True) if runner == "auto" else runner == "vectorized"
        xla = not (convolutional and on_cpu) and (vectorized or compiles(network, vectorized=False))
        default = (os.cpu_count() or 1) if on_cpu else 1
        dtype = network.trainable_variables[0].dtype
        return cls(vectorized, xla=xla, parallel_tasks=parallel_tasks or default, dtype=dtype)

    def map(self, function: Callable) -> Callable:
        """A compiled `f(weights, state, tasks)` that stacks the results of `function(weights, state, task)`.

        `tasks` is a `Task` batch, or any structure of tensors whose first axis is the task.
        """
        if not self.vectorized:
            return self._compile(self._loop_map(function))
        each = self._compile(_vectorized(function))
        return self._sharded(each, lambda sizes: lambda *parts: tf.concat(parts, 0))

    def mean(self, function: Callable) -> Callable:
        """A compiled `f(weights, state, tasks)`: the mean over tasks of `function(weights, state, task)`.

        `function` returns `(meta_gradient, (loss, score))`: a list shaped like `weights`, and two scalars.
        """
        if not self.vectorized:
            return self._compile(self._loop_mean(function))
        each = _vectorized(function)
        mean = self._compile(lambda *arguments: tf.nest.map_structure(lambda t: tf.reduce_mean(t, 0), each(*arguments)))
        return self._sharded(mean, _mean_of_shards)

    def repeat(self, step: Callable, count: int | tf.Tensor, *start: Any) -> list:
        """Applies `values = step(i, *values)` for i = 0, …, count − 1, from `start`, within a function of one task: inner steps.

        There is no gradient through them.
        """
        if not (self.xla or tf.executing_eagerly()):
            # In the order of a graph with loops, oneDNN may meet the gradient of a max-pooling before the pooling, and leave it to a kernel
            # that takes ten times as long. A step that is a call has a graph without a loop around it.
            step = own_function(step, experimental_attributes={"_noinline": True})

        def numbered(i: tf.Tensor, *values: Any) -> tuple:
            return i + 1, *step(i, *values)

        return list(tf.while_loop(lambda i, *_: i < count, numbered, (tf.constant(0), *start), maximum_iterations=count)[1:])

    def map_draws(self, draw: Callable[[Any], tf.Tensor], keys: Any) -> tf.Tensor:
        """Stacks `draw(key)` over noise keys, within a function of one task; unrolled, each draw would be compiled separately."""
        if self.vectorized:
            return tf.vectorized_map(draw, keys, fallback_to_while_loop=False)
        return tf.map_fn(draw, keys, fn_output_signature=self.dtype, parallel_iterations=1)

    def _compile(self, function: Callable) -> Callable:
        return own_function(function, jit_compile=self.xla)

    def _sharded(self, function: Callable, combine: Callable) -> Callable:
        def batched(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Any) -> Any:
            sizes = shard_sizes(_count(tasks), self.parallel_tasks)
            parts = zip(*(tf.split(t, sizes) for t in tf.nest.flatten(tasks)))
            results = (function(weights, state, tf.nest.pack_sequence_as(tasks, part)) for part in parts)
            return tf.nest.map_structure(combine(sizes), *results)

        return own_function(batched)

    def _loop_map(self, function: Callable) -> Callable:
        def batched(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Any) -> Any:
            fields = tuple(tf.nest.flatten(tasks))

            def one(fields: tuple) -> Any:
                return function(weights, state, tf.nest.pack_sequence_as(tasks, fields))

            signature = tf.function(one, autograph=False).get_concrete_function(tuple(tf.TensorSpec(t.shape[1:], t.dtype) for t in fields))
            results = tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype), signature.structured_outputs)
            return tf.map_fn(one, fields, fn_output_signature=results, parallel_iterations=self.parallel_tasks)

        return batched

    def _loop_mean(self, function: Callable) -> Callable:
        def batched(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Task) -> Any:
            count = _count(tasks)

            def add(i: tf.Tensor, total: Any) -> tuple:
                result = function([tf.identity(w) for w in weights], state, Task(*(tf.gather(t, i) for t in tasks)))
                return i + 1, tf.nest.map_structure(tf.add, total, result)

            zero = tf.zeros([], weights[0].dtype)
            total = ([tf.zeros_like(w) for w in weights], (zero, zero))
            _, total = tf.while_loop(
                lambda i, _: i < count, add, (0, total), maximum_iterations=count, parallel_iterations=self.parallel_tasks
            )
            return tf.nest.map_structure(lambda t: t / count, total)

        return batched


def own_function(function: Callable, **options: Any) -> Callable:
    """A `tf.function` whose traces are counted as its own.

    TensorFlow counts them by a function's code, and would warn of retracing where several learners trace the same code once each.
    """
    return tf.function(functools.partial(function), autograph=False, **options)


def shard_sizes(count: int, parallel: int) -> list[int]:
    """Tasks in each shard: as many shards as may run side by side, equal or one task apart, the larger first.

    Example:

    >>> shard_sizes(25, 2)
    [13, 12]
    """
    shards = min(count, parallel)
    return [count // shards + (i < count % shards) for i in range(shards)]


def _mean_of_shards(sizes: list[int]) -> Callable:
    """Function of the shards' means: the mean over all their tasks."""
    if len(set(sizes)) == 1:
        return lambda *parts: tf.add_n(parts) / len(parts)
    return lambda *parts: tf.add_n([size * part for size, part in zip(sizes, parts, strict=True)]) / sum(sizes)


def _vectorized(function: Callable) -> Callable:
    def batched(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Any) -> Any:
        def one(fields: tuple) -> Any:
            # Copies of the weights: a gradient taken inside the function is then the task's own, not the batch's.
            return function([tf.identity(w) for w in weights], state, tf.nest.pack_sequence_as(tasks, fields))

        return tf.vectorized_map(one, tuple(tf.nest.flatten(tasks)), fallback_to_while_loop=False)

    return batched


def _count(tasks: Any) -> int:
    count = tf.nest.flatten(tasks)[0].shape[0]
    if count is None:
        raise ValueError("A batch must have a known number of tasks: `dataset.batch(tasks, drop_remainder=True)`. Received: None")
    return count
