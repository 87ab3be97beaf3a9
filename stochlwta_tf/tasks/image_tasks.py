"""Few-shot classification tasks from a bank of images."""

import copy
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tensorflow as tf
from pydantic import Field
from typing_extensions import Self

from stochlwta_tf import random
from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks.augmentation import augmented
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.decoding import decode
from stochlwta_tf.tasks.protocols import PROTOCOLS, ProtocolName, check_disjoint
from stochlwta_tf.tasks.task import Task, TaskDistribution, at_least


class ImageTasks(TaskDistribution):
    """N-way K-shot tasks: N classes, K support and q query images of each, all different; labels are permuted.

    Pixels are float32 in [0, 1].  Images are ordered by class: with K = 2 the support labels are 0, 0, 1, 1, …, N−1, N−1.  Classes come
    in random order, so a class gets every label equally often.  A data set is a subclass that passes its three banks, split as the
    protocol says.

    Args:
        banks: A dict with a `ClassBank` for each split in use.
        split, batch, seed: As in `TaskDistribution`.
        way: Classes in a task (N).
        shot: Support images of each class (K).
        queries: Query images of each class (q); 0 for learners that use the support set alone.
        train_shot: K in the train split; `None` for the same.
        train_queries: q in the train split; `None` for the same.
        rotations: Whether the training classes rotated by 90, 180 and 270 degrees are added as further training classes; takes four times
            the memory.  Validation and test classes are not rotated.
        flip: Whether each training image is mirrored left to right with probability one half (not for characters).
        shift: Largest shift of each training image in each direction, in pixels.
        protocol: `"standard"`, `"paper"` or `"original_code"`, see `protocols.py`; the last draws classes and images with replacement, and
            one query of each class in a test task.

    Attributes:
        bank: The classes that tasks are drawn from.
        rules: The protocol's `Rules` for drawing and scoring.

    Raises:
        ConfigurationError: If an option is out of its range, or in protocol `standard` a class is in both training and test.
        DataError: If there are too few classes, or a class has too few images; it names the class.

    Example:

    >>> tasks = ImageTasks({"train": bank}, "train", batch=50, seed=0, way=5, shot=1)
    >>> tasks.sample(0).support_x.shape
    TensorShape([50, 5, 28, 28, 1])
    """

    kind, likelihood = "classification", "categorical"
    #: The protocols that a data set supports.
    protocols: tuple[str, ...] = ("standard", "original_code")

    def __init__(
        self,
        banks: Mapping[str, ClassBank],
        split: str,
        batch: int,
        seed: int,
        *,
        way: Annotated[int, Field(ge=1)] = 5,
        shot: Annotated[int, Field(ge=1)] = 1,
        queries: Annotated[int, Field(ge=1)] = 15,
        train_shot: Annotated[int, Field(ge=1)] | None = None,
        train_queries: Annotated[int, Field(ge=0)] | None = None,
        rotations: bool = False,
        flip: bool = False,
        shift: Annotated[int, Field(ge=0)] = 0,
        protocol: ProtocolName = "standard",
    ) -> None:
        super().__init__(split, batch, seed)
        if protocol not in self.protocols:
            allowed = ", ".join(self.protocols)
            raise ConfigurationError(f"protocol of {type(self).__name__} must be one of {allowed}. Received: protocol={protocol}.")
        self.protocol, self.rules = protocol, PROTOCOLS[protocol]
        if split == "train":
            shot = shot if train_shot is None else train_shot
            queries = queries if train_queries is None else train_queries
        elif self.rules.queries is not None:
            queries = self.rules.queries
        at_least(1, way=way, shot=shot)
        at_least(0, queries=queries, shift=shift)
        if split not in banks:
            raise DataError(f"{type(self).__name__} has no {split} classes, only: {', '.join(banks)}.")
        if protocol == "standard" and "train" in banks and "test" in banks:
            check_disjoint(banks["train"].names, banks["test"].names)
        self.bank = banks[split].rotated() if rotations and split == "train" else banks[split]
        self.way, self.shot, self.queries = way, shot, queries
        self.flip, self.shift = (flip, shift) if split == "train" else (False, 0)
        self.input_shape, self.outputs = tuple(self.bank.images.shape[1:]), way
        self._check()

    @classmethod
    def shapes(cls, options: dict[str, Any]) -> tuple[tuple[int, ...] | None, int | None]:
        return super().shapes(options)[0], options["way"]

    @classmethod
    def picture(cls, options: dict[str, Any], data: bytes, where: str | Path) -> np.ndarray:
        """The pixels of a picture file as the tasks with these options have them, so that a trained model can predict it.

        Args:
            options: The options of the task, and `shape`, the shape of an image.
            data: The file's bytes.
            where: The file, for the message.

        Returns:
            uint8 array `[height, width, channels]`.

        Raises:
            DataError: If it cannot be decoded.
        """
        size, _, channels = options["shape"]
        return decode(data, size, channels, where)

    def _check(self) -> None:
        try:
            self.bank.check(
                1 if self.rules.class_replacement else self.way, 1 if self.rules.image_replacement else self.shot + self.queries
            )
        except DataError as error:
            raise DataError(
                f"{type(self).__name__}, {self.split} split: {error}{self._advice() if len(self.bank) < self.way else ''}"
            ) from None

    def _advice(self) -> str:
        """What else may help where a split has too few classes; follows the message."""
        return ""

    def variant(self, **changes: Any) -> Self:
        """A copy with other attributes, such as `rules`, `queries`, `batch` or `bank`.

        Example:

        >>> tasks.variant(rules=tasks.rules._replace(image_replacement=False))
        """
        twin = copy.copy(self)
        vars(twin).update(changes)
        twin._check()
        return twin

    def pool(self, start: int | None, size: int) -> tuple[dict[str, Any], np.ndarray]:
        if self.rules.image_replacement:
            raise ConfigurationError(f"active learning needs images without replacement. Received: protocol {self.protocol}.")
        if size % self.way:
            raise ConfigurationError(f"active_learning.pool must be a multiple of task.way={self.way}. Received: {size}.")
        start = self.shot if start is None else start
        shot = start + size // self.way
        return {"shot": shot}, np.arange(self.way * shot) % shot < start  # images come in the order of their classes

    def query_groups(self, batch: Task) -> tuple[np.ndarray, int, str]:
        return batch.query_y.numpy(), self.way, "class"

    def sample_tasks(self, keys: tf.Tensor) -> Task:
        chosen = self._image_numbers(keys, self._class_numbers(keys, self.way), self.shot + self.queries, tag=2)
        support, query = chosen[..., : self.shot], chosen[..., self.shot :]
        examples = (*self._examples(support, random.fold_in(keys, 0, tag=3)), *self._examples(query, random.fold_in(keys, 0, tag=4)))
        return Task(*examples, random.fold_in(keys, 0))

    def with_unknown(self, index: int, batch: Task) -> Task:
        """Batch number `index`, whose tasks have after their queries as many of one class that is not in the support set, labelled `way`.

        Args:
            index: The batch's number.
            batch: What `sample(index)` returned.

        Raises:
            ConfigurationError: The protocol draws classes with replacement.
            DataError: The split has no class more than a task.
        """
        if self.rules.class_replacement:
            raise ConfigurationError(f"an unknown class needs classes without replacement. Received: protocol {self.protocol}.")
        self.variant(way=self.way + 1)  # checks the number of classes
        keys = self.keys(index)
        unknown = self._class_numbers(keys, self.way + 1)[:, self.way :]  # those before are the task's own
        x, y = self._examples(self._image_numbers(keys, unknown, self.queries, tag=5), random.fold_in(keys, 0, tag=6))
        return batch._replace(query_x=tf.concat([batch.query_x, x], 1), query_y=tf.concat([batch.query_y, y + self.way], 1))

    def _class_numbers(self, keys: tf.Tensor, n: int) -> tf.Tensor:
        """Numbers of `n` classes in random order, `[tasks, n]`; of a larger `n` the first are the same."""
        sizes = tf.fill([keys.shape[0]], len(self.bank))
        return choose(random.fold_in(keys, 0, tag=1), sizes, n, len(self.bank), self.rules.class_replacement)

    def _image_numbers(self, keys: tf.Tensor, classes: tf.Tensor, n: int, tag: int) -> tf.Tensor:
        """Numbers of `n` images of each class, `[tasks, classes, n]`."""
        count, first = tf.gather(self.bank.count, classes), tf.gather(self.bank.first, classes)
        own = choose(random.fold_in(keys, 0, tag=tag), count, n, int(self.bank.count.max()), self.rules.image_replacement)
        return first[..., None] + own

    def _examples(self, chosen: tf.Tensor, keys: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Pixels and labels of image numbers `[tasks, classes, images]`, in the order of their classes."""
        tasks, (classes, images) = keys.shape[0], chosen.shape[1:]
        n = classes * images
        labels = tf.tile(tf.repeat(tf.range(classes), images)[None], [tasks, 1])
        pixels = tf.gather(self.bank.tensor, tf.reshape(chosen, [tasks * n]))
        if self.flip or self.shift:
            pixels = augmented(tf.reshape(random.uniform(keys, (n, 3)), [tasks * n, 3]), pixels, self.flip, self.shift)
        return tf.cast(tf.reshape(pixels, [tasks, n, *self.input_shape]), tf.float32) / 255.0, labels


def choose(keys: tf.Tensor, sizes: tf.Tensor, n: int, largest: int, replacement: bool = False) -> tf.Tensor:
    """For each entry of `sizes`, `n` numbers from 0 to that size − 1 in random order, each equally likely.

    Without replacement they are the positions of the `n` largest of that many uniform numbers.

    Args:
        keys: Noise keys, `[tasks, 2]`.
        sizes: int32 tensor `[tasks, ...]` of known shape.
        n: How many to draw; without replacement at most the smallest size.
        largest: The largest size.
        replacement: Whether a number may occur twice.

    Returns:
        int32 tensor `sizes.shape + [n]`.
    """
    if replacement:  # uniform() is at most 1 - 2^-24, so that its product with a size rounds to less than the size
        return tf.cast(random.uniform(keys, (*sizes.shape[1:], n)) * tf.cast(sizes, tf.float32)[..., None], tf.int32)
    noise = random.uniform(keys, (*sizes.shape[1:], largest))
    return tf.math.top_k(tf.where(tf.range(largest) < sizes[..., None], noise, -1.0), n).indices
