"""The layouts in which mini-ImageNet is distributed, read alike: for each split a list of images, ordered by class and file name."""

import csv
import functools
import io
import os
import re
import zipfile
from collections.abc import Container
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks import safe_pickle
from stochlwta_tf.tasks.class_lists import class_list
from stochlwta_tf.tasks.decoding import decode, is_leftover, is_picture

SIZE = 84
SPLIT_FILES = {"train": "train", "validation": "val", "test": "test"}  # split: name of its files and folders
_CACHE = "mini-imagenet-cache-{}.pkl"
EXPECTED = (
    "images/ (or images.zip) with train.csv, val.csv and test.csv; or train/, val/ and test/ with a folder for each class; or the class"
    " folders themselves, such as n01532829/; or mini-imagenet-cache-train.pkl, -val.pkl and -test.pkl"
)


class Example(NamedTuple):
    """One image: its class, its file's name ("" in the pickle caches) and a function without arguments that returns its pixels."""

    label: str
    file: str
    read: Any

    def number(self) -> int | None:
        """The number of the file within its class's folder, as the official names have it (n0193011200000001.jpg: 1), or None."""
        match = re.fullmatch(re.escape(self.label) + r"(\d{8})\.\w+", self.file)
        return match and int(match[1])


def find(folder: Path) -> "Layout":
    """The layout of a folder: an object with `examples(split)`, `state()` and `most()`.

    Args:
        folder: What holds one of the layouts of `EXPECTED`.

    Raises:
        DataError: If it holds none; the message says what is there and what is expected.

    Example:

    >>> find("data/miniimagenet").examples("test")[0].label
    'n01930112'
    """
    folder = Path(folder)
    names = sorted(path.name for path in folder.iterdir()) if folder.is_dir() else []
    zips = [name for name in names if name.endswith(".zip")]
    if "images" in names and any(f"{name}.csv" in names for name in SPLIT_FILES.values()):
        return _Flat(folder)
    if zips and ("images.zip" in zips or len(zips) == 1):
        return _Zip(folder, folder / ("images.zip" if "images.zip" in zips else zips[0]))
    if all((folder / name).is_dir() for name in SPLIT_FILES.values()):
        return _Folders(folder, {split: _subfolders(folder / name) for split, name in SPLIT_FILES.items()})
    by_list = {split: [folder / wnid for wnid in wnids if wnid in names] for split, wnids in class_list("miniimagenet").items()}
    if all(by_list.values()):
        return _Folders(folder, by_list)
    if any(_CACHE.format(name) in names for name in SPLIT_FILES.values()):
        return _Pickles(folder)
    there = f"a folder with {', '.join(names[:5])}{', …' if len(names) > 5 else ''}" if names else "an empty folder"
    there = there if folder.is_dir() else "no folder"
    raise DataError(f"mini-ImageNet is not in {folder}. It may hold {EXPECTED}. Received: {there}.")


class Layout:
    """What the layouts share; a subclass implements `_listed` and `_bytes`."""

    def __init__(self, folder: Path, files: list[Path]) -> None:
        self.folder, self._files = folder, files
        for file in files:
            if not file.is_file():
                raise DataError(f"{file} is missing; {folder} must hold {EXPECTED}. Received: no such file.")

    def examples(self, split: str) -> list[Example]:
        """The images of a split, by class and file name."""
        return [Example(label, file, functools.partial(self._pixels, label, file)) for label, file in sorted(self._listed(split))]

    def state(self) -> list:
        """Names, sizes and times of the files, which change with the content, as JSON-ready lists."""
        status = ((file, file.stat()) for file in self._files)
        return [[str(file.relative_to(self.folder)), s.st_size, s.st_mtime_ns] for file, s in status]

    def most(self) -> int:
        """At least as many images as there are."""
        return sum(len(self._listed(split)) for split in SPLIT_FILES)

    def _listed(self, split: str) -> list[tuple[str, str]]:
        """The images of a split, pairs (class, file name)."""
        raise NotImplementedError(f"{type(self).__name__} must implement _listed(split).")

    def _bytes(self, label: str, file: str) -> tuple[bytes, str | Path]:
        """The content of a file, and where it is, for messages."""
        raise NotImplementedError(f"{type(self).__name__} must implement _bytes(label, file).")

    def _pixels(self, label: str, file: str) -> np.ndarray:
        data, where = self._bytes(label, file)
        return decode(data, SIZE, 3, where)


class _Flat(Layout):
    """`images/` next to the CSV files of Ravi & Larochelle."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, [folder / f"{name}.csv" for name in SPLIT_FILES.values()])
        self._there = {entry.name: entry for entry in os.scandir(folder / "images")}

    def state(self) -> list:
        images = ([entry.name, entry.stat().st_size, entry.stat().st_mtime_ns] for entry in self._there.values())
        return super().state() + sorted(images)

    def _listed(self, split: str) -> list[tuple[str, str]]:
        path = self.folder / f"{SPLIT_FILES[split]}.csv"
        return _rows(path.read_bytes(), path, self._there, self.folder / "images")

    def _bytes(self, label: str, file: str) -> tuple[bytes, str | Path]:
        path = self.folder / "images" / file
        return path.read_bytes(), path


class _Zip(Layout):
    """A zip of `images/`, with the CSV files in it or next to it; read without extracting it."""

    def __init__(self, folder: Path, path: Path) -> None:
        beside = [folder / f"{name}.csv" for name in SPLIT_FILES.values()]
        super().__init__(folder, [path, *(file for file in beside if file.is_file())])
        self.path = path
        self._zip: zipfile.ZipFile | None = None
        self._members: dict[str, str] = {}

    def _open(self) -> zipfile.ZipFile:
        if self._zip is None:  # not before it is needed: from the cache, it is not
            try:
                self._zip = zipfile.ZipFile(self.path)
            except (OSError, zipfile.BadZipFile) as error:
                raise DataError(f"{self.path}: cannot be read as a zip. Received: {error}.") from error
            names = (name for name in self._zip.namelist() if not any(map(is_leftover, name.split("/"))))
            self._members = {name.rsplit("/", 1)[-1]: name for name in names}
        return self._zip

    def _listed(self, split: str) -> list[tuple[str, str]]:
        name = f"{SPLIT_FILES[split]}.csv"
        path, archive = self.folder / name, self._open()
        if path.is_file():
            return _rows(path.read_bytes(), path, self._members, self.path)
        if name not in self._members:
            raise DataError(f"{name} must be in {self.path} or next to it. Received: neither.")
        return _rows(archive.read(self._members[name]), f"{self.path}/{self._members[name]}", self._members, self.path)

    def _bytes(self, label: str, file: str) -> tuple[bytes, str | Path]:
        where = f"{self.path}/{self._members[file]}"
        try:
            return self._open().read(self._members[file]), where
        except Exception as error:  # a damaged member: BadZipFile, zlib.error, EOFError or another
            raise DataError(f"{where}: cannot be read. Received: {error}.") from error


class _Folders(Layout):
    """A folder for each class, in the folder of its split or assigned to a split by the class lists."""

    def __init__(self, folder: Path, classes: dict[str, list[Path]]) -> None:
        self._classes = {split: {path.name: _pictures(path) for path in paths} for split, paths in classes.items()}
        for split, files in self._classes.items():
            if not files:
                raise DataError(f"{folder / SPLIT_FILES[split]} must hold a folder of images for each class. Received: no folders.")
        super().__init__(folder, [])
        self._paths = {path.name: path for paths in classes.values() for path in paths}

    def state(self) -> list:
        entries = (e for classes in self._classes.values() for files in classes.values() for e in files.values())
        return [[os.path.relpath(e.path, self.folder), e.stat().st_size, e.stat().st_mtime_ns] for e in entries]

    def _listed(self, split: str) -> list[tuple[str, str]]:
        return [(label, file) for label, files in self._classes[split].items() for file in files]

    def _bytes(self, label: str, file: str) -> tuple[bytes, str | Path]:
        path = self._paths[label] / file
        return path.read_bytes(), path


class _Pickles(Layout):
    """`mini-imagenet-cache-{train,val,test}.pkl`: a dictionary with `image_data` and `class_dict`, from class to places in it."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder, [folder / _CACHE.format(name) for name in SPLIT_FILES.values()])

    def most(self) -> int:
        return sum(file.stat().st_size for file in self._files) // (SIZE * SIZE * 3)  # pickles are not compressed

    def examples(self, split: str) -> list[Example]:
        """The images of a split, by class, in the order of the file; the list holds the whole file's array."""
        path = self.folder / _CACHE.format(SPLIT_FILES[split])
        content = safe_pickle.load(path)
        try:
            content = {_text(key): value for key, value in content.items()}
            images = content["image_data"]
            classes = {_text(name): np.asarray(places, int).ravel() for name, places in content["class_dict"].items()}
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise DataError(f"{path}: must hold image_data, and class_dict with the places of each class. Received: {error!r}.") from error
        if not isinstance(images, np.ndarray) or images.dtype != np.uint8 or images.shape[1:] != (SIZE, SIZE, 3):
            what = f"{images.dtype} {list(images.shape)}" if isinstance(images, np.ndarray) else type(images).__name__
            raise DataError(f"{path}: image_data must be uint8 [images, {SIZE}, {SIZE}, 3]. Received: {what}.")
        seen: set[int] = set()
        for name, places in classes.items():
            if len(set(places)) < len(places) or not seen.isdisjoint(places):
                raise DataError(f"{path}: an image must have one place, in one class. Received: one of class {name} twice.")
            seen.update(places)
            if np.any((places < 0) | (places >= len(images))):
                raise DataError(f"{path}: the places of class {name} must be below {len(images)}. Received: {places.max()}.")
        return [Example(name, "", lambda i=i: images[i]) for name in sorted(classes) for i in classes[name]]


def _rows(data: bytes, where: str | Path, there: Container[str], images: Path) -> list[tuple[str, str]]:
    """Pairs (class, file name) of a CSV's bytes; every file must be there."""
    try:
        reader = csv.DictReader(io.StringIO(data.decode("utf-8-sig")))
        if not {"filename", "label"} <= set(reader.fieldnames or ()):
            raise DataError(f"{where}: the first line must be filename,label. Received: {','.join(reader.fieldnames or ())[:80]!r}.")
        rows = [(row["label"], row["filename"]) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{where}: not a CSV file in UTF-8. Received: {error}.") from error
    seen = set()
    for number, (label, file) in enumerate(rows, 2):
        if not label or file not in there:
            raise DataError(f"{where}, line {number}: the file must be in {images} and have a label. Received: {file},{label}.")
        if file in seen:  # a query could be a support image
            raise DataError(f"{where}, line {number}: a file must have one line. Received: {file} a second time.")
        seen.add(file)
    return rows


def _subfolders(folder: Path) -> list[Path]:
    return sorted(path for path in folder.iterdir() if path.is_dir() and not is_leftover(path.name))


def _pictures(folder: Path) -> dict[str, os.DirEntry]:
    with os.scandir(folder) as entries:
        return {e.name: e for e in entries if is_picture(Path(e.name))}


def _text(name: str | bytes) -> str:
    return name.decode() if isinstance(name, bytes) else name
