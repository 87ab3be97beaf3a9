"""Few-shot classification tasks from a bank of images."""

from typing import Annotated

import tensorflow as tf
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.tasks.task import Task, TaskDistribution, at_least


class ImageTasks(TaskDistribution):
    """N-way K-shot tasks: N classes, K support and q query images of each, all without replacement; labels are permuted.

    Pixels are float32 in [0, 1].  Images are ordered by class: with K = 2 the support labels are 0, 0, 1, 1, …, N−1, N−1.  Classes come
    in random order, so a class gets every label equally often.  A data set is a subclass that passes its three banks on.

    Args:
        banks: A `ClassBank` for each split that is used, as a dict.
        split, batch, seed: As in `TaskDistribution`.
        way: Classes in a task (N).
        shot: Support images of each class (K).
        queries: Query images of each class (q); 0 for learners that use the support set alone.
        train_shot: K in the train split; `None` for the same.
        train_queries: q in the train split; `None` for the same.
        rotations: Whether images turned by 90, 180 and 270 degrees are further classes (in every split); takes four times the memory.
        replacement: Draw classes and images with replacement, as the paper's published code does: a task may hold a class under two
            labels and an image twice, and a query may be a support image.
        protocol: Which published procedure the splits follow.

    Raises:
        ConfigurationError: If an option is out of its range.
        DataError: If there are too few classes, or a class has too few images; it names the class.

    Example:

        tasks = ImageTasks({"train": bank}, "train", batch=50, seed=0, way=5, shot=1)
        tasks.sample(0).support_x.shape  # [50, 5, 28, 28, 1]
    """

    kind = "classification"

    def __init__(
        self,
        banks,
        split,
        batch,
        seed,
        *,
        way: Annotated[int, Field(ge=1)] = 5,
        shot: Annotated[int, Field(ge=1)] = 1,
        queries: Annotated[int, Field(ge=0)] = 15,
        train_shot: Annotated[int, Field(ge=1)] | None = None,
        train_queries: Annotated[int, Field(ge=0)] | None = None,
        rotations: bool = False,
        replacement: bool = False,
        protocol: ProtocolName = "standard",
    ):
        super().__init__(split, batch, seed)
        self.protocol = protocol
        if split == "train":
            shot = shot if train_shot is None else train_shot
            queries = queries if train_queries is None else train_queries
        at_least(1, way=way, shot=shot)
        at_least(0, queries=queries)
        if split not in banks:
            raise DataError(f"{type(self).__name__} has no {split} classes, only: {', '.join(banks)}.")
        self.bank = banks[split].rotated() if rotations else banks[split]
        if not replacement:
            try:
                self.bank.check(way, shot + queries)
            except DataError as error:
                raise DataError(f"{type(self).__name__}, {split} split: {error}") from None
        self.way, self.shot, self.queries, self.replacement = way, shot, queries, replacement
        self.input_shape, self.outputs = tuple(self.bank.images.shape[1:]), way

    def sample_batch(self, key):
        classes = choose(random.fold_in(key, 0, tag=1), tf.fill([self.batch], len(self.bank)), self.way, len(self.bank), self.replacement)
        count, first = tf.gather(self.bank.count, classes), tf.gather(self.bank.first, classes)
        largest = int(self.bank.count.max())
        chosen = first[..., None] + choose(random.fold_in(key, 0, tag=2), count, self.shot + self.queries, largest, self.replacement)
        support, query = chosen[..., : self.shot], chosen[..., self.shot :]
        return Task(*self._examples(support), *self._examples(query), random.split(key, self.batch))

    def _examples(self, chosen):
        """Pixels and labels of image numbers `[tasks, way, images]`, in the order of their classes."""
        n = self.way * chosen.shape[-1]
        labels = tf.tile(tf.repeat(tf.range(self.way), chosen.shape[-1])[None], [self.batch, 1])
        return tf.cast(tf.gather(self.bank.tensor, tf.reshape(chosen, [self.batch, n])), tf.float32) / 255.0, labels


def choose(key, sizes, n, largest, replacement=False):
    """For each entry of `sizes`, `n` numbers from 0 to that size − 1 in random order, each equally likely.

    Without replacement they are the places of the `n` largest of as many uniform numbers.

    Args:
        key: Noise key.
        sizes: int32 tensor of known shape.
        n: How many to draw; without replacement at most the smallest size.
        largest: The largest size.
        replacement: Whether a number may come twice.

    Returns:
        int32 tensor `sizes.shape + [n]`.
    """
    if replacement:  # uniform() is at most 1 - 2^-24, so that its product with a size rounds to less than the size
        return tf.cast(random.uniform(key, (*sizes.shape, n)) * tf.cast(sizes, tf.float32)[..., None], tf.int32)
    noise = random.uniform(key, (*sizes.shape, largest))
    return tf.math.top_k(tf.where(tf.range(largest) < sizes[..., None], noise, -1.0), n).indices
