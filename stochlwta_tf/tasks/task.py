"""A batch of few-shot tasks, and the interface of the distributions that sample them."""

from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from stochlwta_tf import random
from stochlwta_tf.errors import ConfigurationError

SPLITS = ("train", "validation", "test")


class Task(NamedTuple):
    """One task, or a batch of tasks (then every field has a leading task dimension).

    Attributes:
        support_x: Inputs to adapt on, `[support, ...]`.
        support_y: Their targets: int32 labels `[support]`, or float values `[support, outputs]`.
        query_x: Inputs to predict, `[query, ...]`.
        query_y: Their targets.
        key: uint32 `[2]`, the task's noise key, the source of all randomness of a learner on this task.
    """

    support_x: tf.Tensor
    support_y: tf.Tensor
    query_x: tf.Tensor
    query_y: tf.Tensor
    key: tf.Tensor


class TaskDistribution:
    """A distribution over tasks; task number `n` is a pure function of (split, seed, n).

    This makes a run reproducible and resumable at any iteration, and its tasks testable one by one; two tests with the same seed have the
    same tasks, whatever their batch.  The splits draw from independent streams, so that training and test tasks differ even where they
    come from one distribution and one seed.  A subclass sets `kind`, `input_shape` and `outputs`, and implements `sample_tasks`; its
    options are the keyword-only arguments of its constructor.

    Args:
        split: `"train"`, `"validation"` or `"test"`.
        batch: Tasks in a batch.
        seed: The seed of the whole sequence of tasks.

    Attributes:
        kind: `"classification"` or `"regression"`.
        likelihood: The likelihood of a learner of these tasks: `"categorical"` or `"gaussian"`.
        bank: Of a classification, the `ClassBank` that tasks are drawn from; None for a regression.
        input_shape: Shape of one input.
        outputs: Width of the network's output: the number of classes (way), or of regression targets.
        notes: What a result must state about the data; empty by default.
        skipped: Files of the split's classes that could not be read and were left out, as text.
        rules: For classification, the protocol's `Rules` for drawing and scoring tasks; None for a regression.

    Raises:
        ConfigurationError: If `split` is unknown or `batch` below 1.
    """

    kind: str
    input_shape: tuple
    outputs: int
    notes: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    rules: Any = None  # a protocol's `Rules`
    bank: Any = None
    likelihood: str

    def __init__(self, split: str, batch: int, seed: int) -> None:
        if split not in SPLITS:
            raise ConfigurationError(f"split must be one of {', '.join(SPLITS)}. Received: split={split}.")
        at_least(1, batch=batch)
        self.split, self.batch, self.seed = split, batch, seed

    @classmethod
    def shapes(cls, options: dict[str, Any]) -> tuple[tuple[int, ...] | None, int | None]:
        """`(input_shape, outputs)` as far as a class and its options determine them without the data; None otherwise."""
        return getattr(cls, "input_shape", None), getattr(cls, "outputs", None)

    def sample_tasks(self, keys: tf.Tensor) -> Task:
        """A `Task` batch from the noise key of each of its tasks, uint32 `[tasks, 2]`; pure TensorFlow, may be traced."""
        raise NotImplementedError(f"{type(self).__name__} must implement sample_tasks(keys).")

    def sample(self, index: int | tf.Tensor, part: range | None = None) -> Task:
        """Batch number `index` (an integer or a scalar integer tensor): tasks `index * batch` to `index * batch + batch − 1`.

        Args:
            index: The batch's number.
            part: Places in the batch, such as `range(0, 25)`, whose tasks alone are sampled; all by default.
        """
        return self.sample_tasks(self.keys(index, part))

    def keys(self, index: int | tf.Tensor, part: range | None = None) -> tf.Tensor:
        """The noise keys of the tasks in a batch, uint32 `[tasks, 2]`; arguments as `sample`."""
        places = range(self.batch) if part is None else part
        numbers = tf.cast(index, tf.int64) * self.batch + tf.range(places.start, places.stop, dtype=tf.int64)
        with tf.init_scope():  # TensorFlow tries to fold a compiled function of constants in a graph, and prints that it cannot
            stream = random.fold_in(random.key_from_seed(self.seed), SPLITS.index(self.split))
        return random.fold_in(stream, numbers, tag=numbers // 2**32)

    def pool(self, start: int | None, size: int) -> tuple[dict[str, Any], np.ndarray]:
        """How a task holds, in its support set, a few labelled examples and a pool of unlabelled ones, for active learning.

        Args:
            start: Labelled examples at first (of each class, in classification); None for the tasks' own number.
            size: Unlabelled examples.

        Returns:
            The options of the task that change, as a dictionary, and for each place in the support set whether it is labelled, a
            boolean array.

        Raises:
            ConfigurationError: The tasks have no such pool.
        """
        raise ConfigurationError(f"active learning needs tasks that have a pool. Received: {type(self).__name__}.")

    def with_unknown(self, index: int, batch: Task) -> Task:
        """Batch number `index` of classification tasks, with queries of a class that the support set lacks after each task's own.

        Args:
            index: The batch's number.
            batch: What `sample(index)` returned.

        Raises:
            ConfigurationError: The tasks have no classes.
        """
        raise ConfigurationError(f"an unknown class needs tasks of classes. Received: {type(self).__name__}.")

    def query_groups(self, batch: Task) -> tuple[np.ndarray, int, str]:
        """Groups of queries in which it is asked which units win.

        Args:
            batch: A `Task` batch.

        Returns:
            The group of each query, integers `[tasks, query]`; how many groups there are; and what one is, in words.
        """
        return np.zeros(batch.query_x.shape[:2], int), 1, "all queries"

    def batches(self, tasks: int) -> range:
        """The numbers of the batches that contain the first `tasks` tasks, as a range."""
        return range(-(-tasks // self.batch))

    def dataset(self, start: int = 0, stop: int | None = None, part: range | None = None) -> tf.data.Dataset:
        """Batches `start`, `start + 1`, …, or a part of each, as a `tf.data.Dataset` of dicts with the fields of `Task`, for `learner.fit`.

        Dicts, because Keras turns a named tuple of arrays into a plain one.  tf.data's autotuner is off: with it every end of an
        iterator waits for the tuner's sleeping thread, which costs more than the sampling.
        """
        options = tf.data.Options()
        options.autotune.enabled = False
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        indices = tf.data.Dataset.range(start, 2**62 if stop is None else stop)
        return indices.map(lambda i: self.sample(i, part)._asdict(), num_parallel_calls=1).prefetch(2).with_options(options)


def at_least(least: int, **options: int) -> None:
    """Raises a ConfigurationError that names the first option whose value is below `least`.

    Example:

    >>> at_least(1, way=0)
    Traceback (most recent call last):
    ...
    stochlwta_tf.errors.ConfigurationError: way must be at least 1. Received: way=0.
    """
    for name, value in options.items():
        if value < least:
            raise ConfigurationError(f"{name} must be at least {least}. Received: {name}={value}.")
