"""Batches of tasks divided over the replicas of a `tf.distribute` strategy: each device, or each process, has its part."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import tensorflow as tf

from stochlwta_tf.learners.task_runner import own_function
from stochlwta_tf.tasks.task import Task


class Runner(Protocol):
    """What maps a function of one task over a batch, as `TaskRunner`."""

    def map(self, function: Callable) -> Callable: ...

    def mean(self, function: Callable) -> Callable: ...


class Replicas:
    """A `TaskRunner` that gives each replica an equal part of a batch, and each the result for the whole batch.

    The weights are ordinary variables, of which every process has its own: they go to the replicas with the tasks, and since the mean
    gradient is the same everywhere, so is each update.  A strategy's mirrored variables would not do: Keras clips a gradient before it
    sums over them, and a checkpoint of some of them needs all processes at once.

    Args:
        runner: The runner of a replica's part.
        strategy: A `tf.distribute.MirroredStrategy` or `MultiWorkerMirroredStrategy`.
        local: How many of the replicas belong to this process, whose batches have the tasks of these alone.

    Raises:
        ValueError: If a batch does not divide, when it comes.

    Example:

    >>> strategy = tf.distribute.MirroredStrategy()
    >>> update = Replicas(learner.task_runner, strategy, strategy.num_replicas_in_sync).mean(learner.task_update)
    """

    def __init__(self, runner: Runner, strategy: tf.distribute.Strategy, local: int) -> None:
        self._runner, self._strategy, self._local = runner, strategy, local
        self._others = strategy.num_replicas_in_sync > local  # other processes have replicas too

    def map(self, function: Callable) -> Callable:
        """As `TaskRunner.map`; the results are those of the tasks of all processes."""
        of_part = self._runner.map(function)

        def replica(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Task) -> Any:
            context = tf.distribute.get_replica_context()
            results = of_part(weights, state, self._own(tasks, context))
            return tf.nest.map_structure(lambda t: context.all_gather(t, axis=0), results) if self._others else results

        def batched(*arguments: Any) -> Any:
            replicas = self._run(replica, arguments)
            return replicas[0] if self._others else tf.nest.map_structure(lambda *parts: tf.concat(parts, 0), *replicas)

        return own_function(batched)

    def mean(self, function: Callable) -> Callable:
        """As `TaskRunner.mean`; the mean is over the tasks of all processes."""
        of_part = self._runner.mean(function)

        def replica(weights: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Task) -> Any:
            context = tf.distribute.get_replica_context()
            result = of_part(weights, state, self._own(tasks, context))
            if not self._others:
                return result
            parts = tf.nest.flatten(result)
            # All at once: a round for each weight would take many times as long.
            vector = context.all_reduce(tf.distribute.ReduceOp.MEAN, tf.concat([tf.reshape(t, [-1]) for t in parts], 0))
            pieces = tf.split(vector, [math.prod(t.shape) for t in parts])
            return tf.nest.pack_sequence_as(result, [tf.reshape(piece, t.shape) for piece, t in zip(pieces, parts, strict=True)])

        def batched(*arguments: Any) -> Any:
            replicas = self._run(replica, arguments)
            return replicas[0] if self._others else tf.nest.map_structure(lambda *parts: tf.add_n(parts) / len(parts), *replicas)

        return own_function(batched)

    def _own(self, tasks: Task, context: tf.distribute.ReplicaContext) -> Task:
        """A replica's part of the tasks, cut out on the host, so that a device is sent no more."""
        count = tasks.key.shape[0]
        if count is None or count % self._local:
            raise ValueError(f"A batch must be a multiple of the replicas. Received: {count} tasks, {self._local} replicas")
        number = context.replica_id_in_sync_group % self._local
        with tf.device("/device:CPU:0"):
            return Task(*(tf.gather(tf.reshape(t, [self._local, count // self._local, *t.shape[1:]]), number) for t in tasks))

    def _run(self, replica: Callable, arguments: tuple) -> list:
        """The results of this process's replicas."""

        def run(_: Any = None) -> list:
            with self._strategy.scope():
                results = self._strategy.run(replica, args=arguments)
            local = [self._strategy.experimental_local_results(t) for t in tf.nest.flatten(results)]
            return [tf.nest.pack_sequence_as(results, of_one) for of_one in zip(*local, strict=True)]

        # `fit` calls a step in the replica context of the default strategy, within which no other can be entered.
        context = tf.distribute.get_replica_context()
        return run() if context is None else context.merge_call(run)
