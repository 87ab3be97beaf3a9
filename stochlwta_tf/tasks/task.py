"""A batch of few-shot tasks, and the interface of everything that samples them."""

from typing import Any, NamedTuple

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
        key: uint32 `[2]`, the task's noise key: everything random that a learner does with the task comes from it.
    """

    support_x: tf.Tensor
    support_y: tf.Tensor
    query_x: tf.Tensor
    query_y: tf.Tensor
    key: tf.Tensor


class TaskDistribution:
    """A distribution over tasks, of which task number `n` is a pure function of (split, seed, n).

    That makes a run reproducible, resumable at any iteration, and its tasks testable one by one; and two tests with one seed have the
    same tasks, whatever their batch.  The splits draw from independent streams, so that training and test tasks differ even where they
    come from one distribution and one seed.  A subclass sets `kind`, `input_shape` and `outputs`, and implements `sample_tasks`; its
    options are the keyword-only arguments of its constructor.

    Args:
        split: `"train"`, `"validation"` or `"test"`.
        batch: Tasks in a batch.
        seed: The seed of the whole sequence of tasks.

    Attributes:
        kind: `"classification"` or `"regression"`.
        input_shape: Shape of one input.
        outputs: Width of the network's output: the number of classes (way), or of regression targets.
        notes: What a result must say of the data; nothing by default.
        rules: Of a classification, the protocol's `Rules` for drawing and scoring tasks; None for a regression.

    Raises:
        ConfigurationError: If `split` is unknown or `batch` below 1.
    """

    kind: str
    input_shape: tuple
    outputs: int
    notes: tuple[str, ...] = ()
    rules: Any = None  # a protocol's `Rules`

    def __init__(self, split: str, batch: int, seed: int) -> None:
        if split not in SPLITS:
            raise ConfigurationError(f"split must be one of {', '.join(SPLITS)}. Received: split={split}.")
        at_least(1, batch=batch)
        self.split, self.batch, self.seed = split, batch, seed

    @classmethod
    def shapes(cls, options: dict[str, Any]) -> tuple[tuple[int, ...] | None, int | None]:
        """`(input_shape, outputs)` as far as a class and its options say them without the data; None for what they do not say."""
        return getattr(cls, "input_shape", None), getattr(cls, "outputs", None)

    def sample_tasks(self, keys: tf.Tensor) -> Task:
        """A `Task` batch from the noise key of each of its tasks, uint32 `[tasks, 2]`; pure TensorFlow, may be traced."""
        raise NotImplementedError(f"{type(self).__name__} must implement sample_tasks(keys).")

    def sample(self, index: int | tf.Tensor) -> Task:
        """Batch number `index` (an integer or a scalar integer tensor): tasks `index * batch` to `index * batch + batch − 1`."""
        numbers = tf.cast(index, tf.int64) * self.batch + tf.range(self.batch, dtype=tf.int64)
        with tf.init_scope():  # TensorFlow tries to fold a compiled function of constants in a graph, and prints that it cannot
            stream = random.fold_in(random.key_from_seed(self.seed), SPLITS.index(self.split))
        return self.sample_tasks(random.fold_in(stream, numbers, tag=numbers // 2**32))

    def batches(self, tasks: int) -> range:
        """The numbers of the batches that hold the first `tasks` tasks, a range."""
        return range(-(-tasks // self.batch))

    def dataset(self, start: int = 0, stop: int | None = None) -> tf.data.Dataset:
        """Batches `start`, `start + 1`, … as a `tf.data.Dataset` of dicts with the fields of `Task`, ready for `learner.fit`.

        Dicts, because Keras turns a named tuple of arrays into a plain one.  tf.data's autotuner is off: with it every end of an
        iterator waits for the tuner's sleeping thread, which costs more than the sampling.
        """
        options = tf.data.Options()
        options.autotune.enabled = False
        options.experimental_distribute.auto_shard_policy = tf.data.experimental.AutoShardPolicy.OFF
        indices = tf.data.Dataset.range(start, 2**62 if stop is None else stop)
        return indices.map(lambda i: self.sample(i)._asdict(), num_parallel_calls=1).prefetch(2).with_options(options)


def at_least(least: int, **options: int) -> None:
    """Raises a ConfigurationError that names the first option whose value is below `least`.

    Example:

        at_least(1, way=0)  # ConfigurationError: way must be at least 1. Received: way=0.
    """
    for name, value in options.items():
        if value < least:
            raise ConfigurationError(f"{name} must be at least {least}. Received: {name}={value}.")
