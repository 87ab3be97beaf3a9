"""The user's own images: a folder for each class, or a CSV file that says which class a picture is of."""

import csv
import hashlib
import json
import logging
import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.class_split import NotNegative, by_seed, from_file
from stochlwta_tf.tasks.decoding import EXTENSIONS, decode, in_parallel, is_leftover, is_picture
from stochlwta_tf.tasks.duplicates import distinct, duplicates
from stochlwta_tf.tasks.images import ImageTasks
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.tasks.reading import named, reading
from stochlwta_tf.tasks.task import at_least


class ImageFolder(ImageTasks):
    """Few-shot tasks from any pictures: of any mode and size, converted to a common one (see `decoding.decode`) and cached.

    Pictures are decoded again when a file was added, removed or changed.  Classes and pictures are in the order of their names.  No query
    is a support image: hidden folders and those that systems create for their own use are skipped, and pictures of a class with the same
    pixels count once.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        data_dir: A folder with a folder of pictures (at any depth) for each class; or a CSV file with the columns `filename` (relative to
            the CSV's folder) and `label`.
        size: Height and width that pictures are resized to.
        channels: 3 for colour, 1 for greyscale.
        split_file: YAML, JSON or CSV file that says which classes are for training, validation and testing; see `class_split.from_file`.
        class_split: Without `split_file`: the classes for training, validation and testing, as fractions that sum to 1 or as numbers of
            classes.
        split_seed: Without `split_file`: seed of the order in which classes are assigned to the splits.
        protocol: `"standard"`, or `"original_code"`, which has the same splits.
        classes: The names of this split's classes if a run recorded them; then `split_file` and `class_split` are ignored.
        **options: `way`, `shot`, `queries` and the others of `ImageTasks`.

    Attributes:
        notes: What a result must state about the data: pictures that occur twice.

    Raises:
        ConfigurationError: If an option is out of its range, or the protocol is `paper`.
        DataError: If there are no pictures, one cannot be decoded, or a class is in two splits; the message names it.

    Example:

    >>> tasks = ImageFolder("test", batch=4, seed=0, data_dir="birds", size=84, way=5, shot=1)
    """

    def __init__(
        self,
        split: str,
        batch: int,
        seed: int,
        *,
        data_dir: str,
        size: Annotated[int, Field(ge=1)] = 84,
        channels: Literal[1, 3] = 3,
        split_file: str | None = None,
        class_split: tuple[NotNegative, NotNegative, NotNegative] = (0.64, 0.16, 0.2),
        split_seed: Annotated[int, Field(ge=0)] = 0,
        protocol: ProtocolName = "standard",
        classes: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        at_least(1, size=size)
        at_least(0, split_seed=split_seed)
        if channels not in (1, 3):
            raise ConfigurationError(f"channels must be 1 or 3. Received: channels={channels}.")
        path = named(data_dir, "data_dir")
        with reading(path):
            pictures = listed(path)
            status = [(label, os.path.relpath(file, path), file.stat()) for label, file in pictures]
            state = json.dumps([[label, file, s.st_size, s.st_mtime_ns] for label, file, s in status])
            settings = {"size": size, "channels": channels, "files": hashlib.sha256(state.encode()).hexdigest(), "distinct": True}
            bank = cached_bank("image_folder", settings, lambda: load(pictures, size, channels))
        if classes is not None:
            missing = [name for name in classes if name not in bank.names]
            if missing:
                raise DataError(
                    f"{path} must hold the {len(classes)} {split} classes that the run recorded; other data needs its own class_split or"
                    f" split_file. Received: {len(missing)} of them are missing, the first {missing[0]!r}."
                )
            groups = {split: list(classes)}
        else:
            groups = from_file(split_file) if split_file else by_seed(bank.names, class_split, split_seed)
        banks = bank.split({name: names for name, names in groups.items() if names})
        if "validation" not in banks and "train" in banks:
            banks["validation"] = banks["train"]  # as Omniglot's: a validation score then shows progress, not generalisation
        super().__init__(banks, split, batch, seed, protocol=protocol, **options)
        self.notes = tuple(_notes([label for label, _ in pictures], bank, banks))
        if split == "train":
            for note in self.notes:
                logging.getLogger(__name__).warning("%s: %s.", path, note)

    @classmethod
    def shapes(cls, options: dict[str, Any]) -> tuple[tuple[int, ...] | None, int | None]:
        return (options["size"], options["size"], options["channels"]), options["way"]


def _notes(labels: Sequence[str], bank: ClassBank, banks: Mapping[str, ClassBank]) -> Iterator[str]:
    """What a result must state about pictures that occur twice; `labels` are those of all files."""
    files = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    fewer = [name for name, count in zip(bank.names, bank.count, strict=True) if count < files[name]]
    if fewer:
        dropped = len(labels) - bank.count.sum()
        yield f"{dropped} of {len(labels)} pictures have the pixels of another of their class and count once, the first in {fewer[0]!r}"
    if len(np.unique(bank.digests, axis=0)) < len(bank.digests):
        found = duplicates(banks)
        if found:
            a, b = found[0]
            across = sum(a.split != b.split for a, b in found)
            yield (
                f"{len(found)} pictures have the pixels of one of another class, {across} of them in another split; the first are in"
                f" {a.label!r} ({a.split}) and {b.label!r} ({b.split})"
            )


def listed(path: Path) -> list[tuple[str, Path]]:
    """Pairs (class, file) of a folder of class folders or a CSV file, sorted.

    Raises:
        DataError: If there is none, a class has no pictures, or a file is missing.
    """
    if path.is_file():
        found = _rows(path)
    elif path.is_dir():
        found = []
        for folder in (p for p in path.iterdir() if p.is_dir() and not is_leftover(p.name)):
            files = [p for p in folder.rglob("*") if is_picture(p.relative_to(folder)) and p.is_file()]
            if not files:
                raise DataError(f"{folder} must hold pictures ({', '.join(sorted(EXTENSIONS))}). Received: none.")
            found += [(folder.name, file) for file in files]
    else:
        raise DataError(f"data_dir must be a folder of class folders, or a CSV file with the columns filename,label. Received: {path}.")
    if not found:
        raise DataError(f"{path} must hold a folder of pictures for each class, or name pictures. Received: none.")
    return sorted(found)


def _rows(path: Path) -> list[tuple[str, Path]]:
    try:
        with open(path, encoding="utf-8-sig", newline="") as opened:
            reader = csv.DictReader(opened)
            columns = reader.fieldnames or ()
            rows = list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: not a CSV file in UTF-8. Received: {error}.") from error
    if not {"filename", "label"} <= set(columns):
        raise DataError(f"{path}: the first line must have the columns filename and label. Received: {','.join(columns)[:80]!r}.")
    found = [(row["label"], path.parent / (row["filename"] or "")) for row in rows]
    for number, (label, file) in enumerate(found, 2):
        if not label or not os.path.isfile(file):
            received = f"{file.name},{label}"[:120]
            raise DataError(f"{path}, line {number}: needs a file that is there, and a label. Received: {received}.")
    return found


def load(pictures: Sequence[tuple[str, Path]], size: int, channels: int) -> ClassBank:
    """A `ClassBank` of the pictures, pairs (class, file) sorted by class; those of a class with the same pixels are one."""
    images = np.empty((len(pictures), size, size, channels), "uint8")
    decoded = in_parallel(lambda pair: decode(pair[1].read_bytes(), size, channels, pair[1]), pictures, "Decoding")
    for i, pixels in enumerate(decoded):
        images[i] = pixels
    names, labels, count = np.unique([label for label, _ in pictures], return_inverse=True, return_counts=True)
    bank = ClassBank(images, np.cumsum(count) - count, count, names.tolist())
    kept = distinct(bank)
    if len(kept) == len(images):
        return bank
    count = np.bincount(labels[kept])
    return ClassBank(images[kept], np.cumsum(count) - count, count, bank.names, bank.digests[kept])
