"""Labelled images in memory, sorted by class: what few-shot image tasks are sampled from."""

import hashlib
import json
import mmap
import re
from collections.abc import Mapping, Sequence

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

from stochlwta_tf.errors import DataError

_DIGEST = 16  # bytes of an image's digest


class ClassBank:
    """uint8 images of many classes in one array; a class is a run of neighbouring images.

    The array may be memory-mapped, and subsets share it: selecting the classes of a split copies nothing, and the images are held in
    memory for sampling only once.

    Args:
        images: uint8 array `[images, height, width, channels]`, sorted by class.
        first: Index of each class's first image, `[classes]`.
        count: Images in each class, `[classes]`; classes may differ in size.
        names: One distinct name per class.
        digests: The images' digests where they are known, uint8 `[images, 16]`; see the property.

    Attributes:
        found: What was noticed when the images were made, lists of text by name; it is stored with them.

    Raises:
        DataError: If the arrays are inconsistent, or a class is empty.

    Example:

    >>> bank = ClassBank.from_labels(images, labels, names=["cat", "dog"])
    >>> bank.subset(["dog"]).count
    """

    def __init__(
        self, images: np.ndarray, first: ArrayLike, count: ArrayLike, names: Sequence[str], digests: np.ndarray | None = None
    ) -> None:
        if not isinstance(images, np.ndarray):
            raise DataError(f"A class bank needs an array of images. Received: {type(images).__name__}.")
        for place in map(np.asarray, (first, count)):
            if place.size and place.dtype.kind not in "iu":
                raise DataError(f"The first image and the count of each class must be whole numbers. Received: {place.tolist()}.")
        self.images, self.first, self.count = images, np.asarray(first, "int32"), np.asarray(count, "int32")
        self.names, self._digests = tuple(names), digests
        self.found: dict[str, list[str]] = {}
        self._source: ClassBank | None = None  # no reference to itself, so that its memory is freed at once
        self._start = 0
        self._tensors: dict[tuple[int, int], tf.Variable] = {}
        if images.dtype != np.uint8 or images.ndim != 4:
            raise DataError(f"Images must be uint8 [images, height, width, channels]. Received: {images.dtype} {list(images.shape)}.")
        if digests is not None and (digests.dtype != np.uint8 or digests.shape != (len(images), _DIGEST)):
            received = f"{digests.dtype} {list(digests.shape)}"
            raise DataError(f"The digests of {len(images)} images must be uint8 [{len(images)}, {_DIGEST}]. Received: {received}.")
        if not self.names or not (len(self.first) == len(self.count) == len(self.names)):
            lengths = f"{len(self.first)} first, {len(self.count)} count, {len(self.names)} names"
            raise DataError(f"A class bank needs one first image, count and name for each of at least 1 class. Received: {lengths}.")
        if len(set(self.names)) < len(self.names):
            raise DataError(f"Class names must differ. Received {next(n for n in self.names if self.names.count(n) > 1)!r} twice.")
        for name, start, n in zip(self.names, self.first, self.count, strict=True):
            if n < 1 or start < 0 or start + n > len(images):
                raise DataError(f"Class {name!r} must lie within the {len(images)} images. Received: {n} images from number {start}.")

    @classmethod
    def from_labels(cls, images: np.ndarray, labels: np.ndarray, names: Sequence[str]) -> "ClassBank":
        """A bank from images in any order; `names[label]` is the name of a label, and the order within a class is kept."""
        labels = np.asarray(labels)
        if labels.dtype.kind not in "iu" or labels.ndim != 1:
            raise DataError(f"Labels must be whole numbers [images]. Received: {labels.dtype} {list(labels.shape)}.")
        if len(labels) != len(images) or not np.all((labels >= 0) & (labels < len(names))):
            raise DataError(f"Each of {len(images)} images needs a label from 0 to {len(names) - 1}. Received: {len(labels)} labels.")
        count = np.bincount(labels, minlength=len(names))
        return cls(images[np.argsort(labels, kind="stable")], np.cumsum(count) - count, count, names)

    def __len__(self) -> int:
        return len(self.names)

    def of(self, name: str) -> np.ndarray:
        """All images of one class."""
        if name not in self.names:
            raise DataError(f"The class must be one of the {len(self)} of the data. Received: {name!r}.")
        i = self.names.index(name)
        return self.images[self.first[i] : self.first[i] + self.count[i]]

    def subset(self, names: Sequence[str]) -> "ClassBank":
        """The bank of the named classes, in the order given; shares the images."""
        index = {name: i for i, name in enumerate(self.names)}
        unknown = [name for name in names if name not in index]
        if unknown:
            raise DataError(f"{len(unknown)} classes are not among the {len(self)} of the data, the first is {unknown[0]!r}.")
        chosen = np.array([index[name] for name in names], int)
        first, count = self.first[chosen], self.count[chosen]
        start, stop = (first.min(), (first + count).max()) if len(chosen) else (0, 0)
        return self._sharing(ClassBank(self.images[start:stop], first - start, count, names), start)

    def parts(self, first: ArrayLike, count: ArrayLike) -> "ClassBank":
        """A bank of the same classes with other images of the same array: `count[i]` images from number `first[i]` on for class i."""
        return self._sharing(ClassBank(self.images, first, count, self.names), 0)

    def _sharing(self, part: "ClassBank", start: int) -> "ClassBank":
        part._source, part._start = self if self._source is None else self._source, self._start + int(start)
        return part

    def split(self, groups: Mapping[str, Sequence[str]]) -> dict[str, "ClassBank"]:
        """Class-disjoint banks from a dict of lists of names.

        Raises:
            DataError: If a class is in two groups, or not in the bank.
        """
        owner: dict[str, str] = {}
        for group, names in groups.items():
            for name in names:
                if owner.setdefault(name, group) != group:
                    raise DataError(f"Class {name!r} is in two splits, {owner[name]} and {group}.")
        return {group: self.subset(names) for group, names in groups.items()}

    def rotated(self) -> "ClassBank":
        """A bank with four times the classes: every class rotated by 0, 90, 180 and 270 degrees; images must be square.

        Copies the images: sampling from the copies is faster than rotating pixels in every task.
        """
        if self.images.shape[1] != self.images.shape[2]:
            raise DataError(f"Only square images can be rotated into new classes. Received: {self.images.shape[1]}x{self.images.shape[2]}.")
        images = np.concatenate([np.rot90(self.images, turns, axes=(1, 2)) for turns in range(4)])
        first = np.concatenate([self.first + turns * len(self.images) for turns in range(4)])
        return ClassBank(images, first, np.tile(self.count, 4), [f"{name} {turns * 90}°" for turns in range(4) for name in self.names])

    @staticmethod
    def unrotated(name: str) -> str:
        """The name of the original class of a class of `rotated()`; any other name is returned unchanged."""
        return re.sub(r" (0|90|180|270)°$", "", name)

    def check(self, way: int, images: int) -> None:
        """Raises a DataError if tasks of `way` classes with `images` distinct images each cannot be drawn."""
        if way > len(self):
            raise DataError(f"way={way} needs {way} classes, but there are {len(self)}: lower task.way, or divide the classes otherwise.")
        if self.count.min() < images:
            i = int(np.argmin(self.count))
            raise DataError(
                f"Class {self.names[i]!r} has too few images for shot + queries: set task.shot and task.queries (in training"
                f" task.train_shot and task.train_queries) lower. Received: {self.count[i]} for {images}."
            )

    @property
    def digests(self) -> np.ndarray:
        """A BLAKE2b digest of each image's pixels, uint8 `[images, 16]`: equal where the pixels are."""
        if self._source is not None:
            return self._source.digests[self._start : self._start + len(self.images)]
        if self._digests is None:
            found = b"".join(hashlib.blake2b(np.ascontiguousarray(image).data, digest_size=_DIGEST).digest() for image in self.images)
            self._digests = np.frombuffer(found, "uint8").reshape(-1, _DIGEST)
            self._release()
        return self._digests

    def fingerprint(self) -> str:
        """A hexadecimal SHA-256 of what tasks are drawn from: the names and images of the classes, in order.

        Example:

        >>> bank.fingerprint() == bank.subset(bank.names).fingerprint()
        True
        """
        total = hashlib.sha256(json.dumps([self.names, self.count.tolist(), self.images.shape[1:]]).encode())
        for start, n in zip(self.first, self.count, strict=True):
            total.update(self.digests[start : start + n].tobytes())
        return total.hexdigest()

    @property
    def tensor(self) -> tf.Tensor:
        """The images as a uint8 `tf.Variable` in host memory, one for all banks that share their origin and hold the same images.

        A variable, because a graph holds it by reference: tf.data writes a captured tensor into the graph again for every iterator.
        """
        source = self if self._source is None else self._source
        tensors, key = source._tensors, (self._start, len(self.images))
        if key not in tensors:
            with tf.init_scope(), tf.device("CPU:0"):
                tensors[key] = tf.Variable(self.images, trainable=False, name="class_bank")
            self._release()
        return tensors[key]

    def _release(self) -> None:
        """Releases the pages of a memory map that were just read, which would count as this process's memory."""
        mapped = getattr(self.images, "_mmap", None)
        if mapped is not None and hasattr(mapped, "madvise"):
            mapped.madvise(mmap.MADV_DONTNEED)
