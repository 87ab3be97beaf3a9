"""Duplicate images of a data set, pixel for pixel: within a split, or across training and test."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from stochlwta_tf.tasks.class_bank import ClassBank


class Place(NamedTuple):
    """Where an image is: split, class and number within the class."""

    split: str
    label: str
    number: int


def duplicates(banks: Mapping[str, ClassBank]) -> list[tuple[Place, Place]]:
    """Pairs of different images with the same pixels.

    Each further copy of an image is paired with the first one.  An image that belongs to two splits (training and validation may
    share a bank) is one image, not two.

    Args:
        banks: A `ClassBank` for each split, as a dict.

    Returns:
        A list of pairs of `Place`.

    Example:

    >>> duplicates({"train": train, "test": test})
    [(Place(split='train', label='a', index=3), Place(split='test', label='b', index=0))]
    """
    first: dict[bytes, Place] = {}
    found: list[tuple[Place, Place]] = []
    seen: set[int] = set()
    for split, bank in banks.items():
        start_of_bank, size = bank.images.__array_interface__["data"][0], bank.images.strides[0]
        for label, start, count in zip(bank.names, bank.first.tolist(), bank.count.tolist(), strict=True):
            for i in range(count):
                address = start_of_bank + (start + i) * size
                if address in seen:
                    continue
                seen.add(address)
                place = Place(split, label, i)
                other = first.setdefault(bank.digests[start + i].tobytes(), place)
                if other is not place:
                    found.append((other, place))
    return found


def distinct(bank: ClassBank) -> np.ndarray:
    """Indices of the first copy of each image within its class, in increasing order.

    Example:

    >>> distinct(bank)  # image 2 is a copy of image 0 or 1
    array([0, 1, 3])
    """
    kept = []
    for start, count in zip(bank.first, bank.count, strict=True):
        kept.append(start + np.sort(np.unique(bank.digests[start : start + count], axis=0, return_index=True)[1]))
    return np.concatenate(kept)
