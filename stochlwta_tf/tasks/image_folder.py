"""The user's own images: a folder for each class, or a CSV file that says which class a picture is of."""

import hashlib
import json
import logging
import os
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import Field

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.class_split import NotNegative, by_seed, from_file
from stochlwta_tf.tasks.decoding import decode, in_parallel
from stochlwta_tf.tasks.duplicates import Place, distinct
from stochlwta_tf.tasks.duplicates import duplicates as find_duplicates
from stochlwta_tf.tasks.image_tasks import ImageTasks
from stochlwta_tf.tasks.picture_files import listed, text
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.tasks.reading import named, reading
from stochlwta_tf.tasks.task import SPLITS, at_least


class ImageFolder(ImageTasks):
    """Few-shot tasks from any pictures: of any mode and size, converted to a common one (see `decoding.decode`) and cached.

    Pictures are decoded again when a file was added, removed or changed.  Classes and pictures are in the order of their names.  No query
    is a support image: hidden folders and those that systems create for their own use are skipped, and pictures of a class with the same
    pixels count once.  In training, one line says how many files are left out as no pictures.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        data_dir: A folder with a folder of pictures (at any depth) for each class; a folder with such folders in `train/`, `validation/`
            and `test/`, which are then the splits; or a CSV file with the columns `filename` (relative to the CSV's folder) and `label`.
        size: Height and width that pictures are resized to.
        channels: 3 for colour, 1 for greyscale.
        split_file: YAML, JSON or CSV file that says which classes are for training, validation and testing; see `class_split.from_file`.
        class_split: Without `split_file` and folders of splits: the classes for training, validation and testing, as fractions that sum
            to 1 or as numbers of classes.
        split_seed: Without `split_file`: seed of the order in which classes are assigned to the splits.
        protocol: `"standard"`, or `"original_code"`, which has the same splits.
        duplicates: What to do about a picture that is in two splits, pixel for pixel, so that a test would see what was trained on:
            `"refuse"` it, or `"keep"` both, which each result then states.
        skip_damaged: Whether pictures that cannot be decoded are left out, which each result then states.
        classes: The names of this split's classes if a run recorded them; then `split_file` and `class_split` are ignored.
        **options: `way`, `shot`, `queries` and the others of `ImageTasks`.

    Attributes:
        notes: What a result must state about the data: pictures that occur twice, were left out, or are nearly black.

    Raises:
        ConfigurationError: If an option is out of its range, or the protocol is `paper`.
        DataError: If there are no pictures, some cannot be decoded, or a picture or class is in two splits; the message names them.

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
        duplicates: Literal["refuse", "keep"] = "refuse",
        skip_damaged: bool = False,
        classes: Sequence[str] | None = None,
        **options: Any,
    ) -> None:
        at_least(1, size=size)
        at_least(0, split_seed=split_seed)
        if channels not in (1, 3):
            raise ConfigurationError(f"channels must be 1 or 3. Received: channels={channels}.")
        if duplicates not in ("refuse", "keep"):
            raise ConfigurationError(f"duplicates must be refuse or keep. Received: duplicates={duplicates}.")
        path = named(data_dir, "task.data_dir")
        with reading(path):
            files = listed(path)
            pictures = files.pictures
            status = [(label, os.path.relpath(file, path), file.stat()) for label, file in pictures]
            state = json.dumps([[label, file, s.st_size, s.st_mtime_ns] for label, file, s in status])
            settings = {"size": size, "channels": channels, "files": hashlib.sha256(state.encode()).hexdigest(), "distinct": True}
            bank = cached_bank("image_folder", settings, lambda: load(pictures, size, channels, path if path.is_dir() else path.parent))
        damaged = bank.found.get("damaged", [])
        if damaged and not skip_damaged:
            raise DataError(
                f"{path}: {len(damaged)} of {len(pictures)} pictures cannot be decoded; replace them, or set task.skip_damaged=true to"
                f" leave them out. Received: {_first(damaged, _NAMED)}."
            )
        if classes is not None:
            classes = [unicodedata.normalize("NFC", name) for name in classes]
            missing = [name for name in classes if name not in bank.names]
            if missing:
                raise DataError(
                    f"{path} must hold the {len(classes)} {split} classes that the run recorded; other data needs its own class_split or"
                    f" split_file. Received: {len(missing)} of them are missing, the first {missing[0]!r}."
                )
            groups: Mapping[str, Sequence[str]] = {split: classes}
        elif split_file:
            groups = from_file(split_file)
        else:
            groups = files.splits or by_seed(bank.names, class_split, split_seed)
        banks = bank.split({name: names for name, names in groups.items() if names})
        if "validation" not in banks and "train" in banks:
            banks["validation"] = banks["train"]  # as Omniglot's: a validation score then shows progress, not generalisation
        twice = find_duplicates(banks) if len(np.unique(bank.digests, axis=0)) < len(bank.digests) else []
        across = [pair for pair in twice if pair[0].split != pair[1].split]
        if across and duplicates == "refuse":
            pairs = (f"{_file(pictures, a, banks, size, channels)} and {_file(pictures, b, banks, size, channels)}" for a, b in across[:3])
            raise DataError(
                f"{path}: pictures are in two splits, so that a test would see what was trained on; remove them, or set"
                f" task.duplicates=keep, which each result then states. Received: {len(across)}, {_first(list(pairs), 3, len(across))}."
            )
        own = "its folders" if files.splits else f"task.class_split={list(class_split)}"
        self._divided = f"task.split_file={split_file}" if split_file else own
        self._classes = len(bank)
        super().__init__(banks, split, batch, seed, protocol=protocol, **options)
        names = set(map(ClassBank.unrotated, self.bank.names))
        self.skipped = tuple(file for file, label in zip(damaged, bank.found.get("damaged_of", ())) if label in names)
        self.notes = tuple(_notes([label for label, _ in pictures], bank, twice))
        if split == "train":
            for note in (*self.notes, *filter(None, [files.left_out])):
                logging.getLogger(__name__).warning("%s: %s.", path, note)

    @classmethod
    def shapes(cls, options: dict[str, Any]) -> tuple[tuple[int, ...] | None, int | None]:
        return (options["size"], options["size"], options["channels"]), options["way"]

    def _advice(self) -> str:
        way = min(self._classes // len(SPLITS), self.way)
        possible = f"; task.way={way} task.class_split={[self._classes - 2 * way, way, way]} would do" if way > 1 else ""
        return f" The data has {self._classes} classes, divided into splits by {self._divided}{possible}."


_NAMED = 100  # damaged pictures in a message


def _first(lines: Sequence[str], most: int, of: int | None = None) -> str:
    more = (len(lines) if of is None else of) - min(most, len(lines))
    return "; ".join([*lines[:most], *([f"and {more} more"] if more else [])])


def _file(pictures: Sequence[tuple[str, Path]], place: Place, banks: Mapping[str, ClassBank], size: int, channels: int) -> str:
    """The file of an image, and its split; its class's files are decoded for that."""
    bank = banks[place.split]
    pixels = bank.of(place.label)[place.number]
    for label, file in pictures:
        if label == place.label:
            try:
                if np.array_equal(decode(file.read_bytes(), size, channels, file), pixels):
                    return f"{file} ({place.split})"
            except DataError:
                continue
    return f"{place.label} ({place.split})"


def _notes(labels: Sequence[str], bank: ClassBank, twice: Sequence[tuple[Place, Place]]) -> Iterator[str]:
    """What a result must state about the pictures; `labels` are those of all files."""
    damaged = bank.found.get("damaged", [])
    if damaged:
        yield f"{len(damaged)} of {len(labels)} pictures cannot be decoded and are left out, the first {damaged[0]}"
    files = dict(zip(*np.unique(labels, return_counts=True), strict=True))
    lost = Counter(bank.found.get("damaged_of"))
    fewer = [name for name, count in zip(bank.names, bank.count, strict=True) if count < files[name] - lost[name]]
    if fewer:
        dropped = len(labels) - len(damaged) - bank.count.sum()
        yield f"pictures with the pixels of another of their class, which count once: {dropped} of {len(labels)}, the first in {fewer[0]!r}"
    if twice:
        a, b = twice[0]
        across = sum(a.split != b.split for a, b in twice)
        yield (
            f"pictures with the pixels of one of another class: {len(twice)}, of them in another split: {across}; the first are in"
            f" {a.label!r} ({a.split}) and {b.label!r} ({b.split})"
        )
    if dark := bank.found.get("dark"):
        yield (
            f"classes without a pixel above 10 % of white: {len(dark)}, the first {dark[0]!r}; 12 bits in a file of 16, which need scaling,"
            " look like that"
        )


def load(pictures: Sequence[tuple[str, Path]], size: int, channels: int, root: Path) -> ClassBank:
    """A `ClassBank` of the pictures, pairs (class, file) sorted by class; those of a class with the same pixels are one.

    Its `found` has the pictures that cannot be decoded, as `file (reason)` with the file relative to `root`, under "damaged", their classes
    under "damaged_of", and the classes without a pixel above 10 % of white under "dark".

    Raises:
        DataError: No picture of a class can be decoded.
    """

    def read(picture: tuple[str, Path]) -> np.ndarray | str:
        file = picture[1]
        try:
            return decode(file.read_bytes(), size, channels, file)
        except DataError as error:
            reason = str(error).removeprefix(f"{file}: cannot be decoded: ").replace(". Received: ", ", ").removesuffix(".")
        except OSError as error:
            reason = str(error.strerror)
        return f"{text(os.path.relpath(file, root))} ({reason})"

    images = np.empty((len(pictures), size, size, channels), "uint8")
    kept, labels = 0, []
    damaged: list[str] = []
    damaged_of: list[str] = []
    for (label, _), pixels in zip(pictures, in_parallel(read, pictures, "Decoding"), strict=True):
        if isinstance(pixels, str):
            damaged.append(pixels)
            damaged_of.append(label)
            continue
        images[kept] = pixels
        labels.append(label)
        kept += 1
    empty = sorted({label for label, _ in pictures}.difference(labels))
    if empty:
        raise DataError(f"no picture of class {empty[0]!r} can be decoded. Received: {_first(damaged, _NAMED)}.")
    names, numbers, count = np.unique(labels, return_inverse=True, return_counts=True)
    bank = ClassBank(images[:kept], np.cumsum(count) - count, count, names.tolist())
    indices = distinct(bank)
    if len(indices) < kept:
        count = np.bincount(numbers[indices])
        bank = ClassBank(images[indices], np.cumsum(count) - count, count, bank.names, bank.digests[indices])
    dark = [name for name in bank.names if bank.of(name).max() < 25.5]
    found = {"damaged": damaged, "damaged_of": damaged_of, "dark": dark}
    bank.found = {name: lines for name, lines in found.items() if lines}
    return bank
