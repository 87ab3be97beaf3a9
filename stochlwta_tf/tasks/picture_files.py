"""Which files of the user's folder or CSV file are pictures of which class, and which are left out."""

import csv
import os
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks.class_split import SPLIT_NAMES
from stochlwta_tf.tasks.decoding import extensions, is_leftover, is_picture
from stochlwta_tf.tasks.task import SPLITS


class PictureFiles(NamedTuple):
    """The pictures of a data folder.

    Attributes:
        pictures: Pairs (class, file), sorted.
        splits: The classes of each split where the folder has `train/`, `validation/` and `test/`; else None.
        left_out: What is no picture, in words; empty if there is nothing.
    """

    pictures: list[tuple[str, Path]]
    splits: dict[str, list[str]] | None = None
    left_out: str = ""


def listed(path: Path) -> PictureFiles:
    """The pictures of a folder of class folders, at any depth, or of a CSV file with the columns `filename` and `label`.

    Links are followed, each folder is read once.  Where all folders have a split's name (`train`, `val`, `valid`, `validation`, `test`)
    and hold folders, those are the classes.

    Args:
        path: The folder or file.

    Raises:
        DataError: There is none, a class has no pictures or is in two splits, two classes have one name, or a file is missing.

    Example:

    >>> listed(Path("birds")).pictures[0]
    ('owl', PosixPath('birds/owl/1.png'))
    """
    if path.is_file():
        if not (rows := _rows(path)):
            raise DataError(f"{path} must hold a folder of pictures for each class, or name pictures. Received: none.")
        return PictureFiles(sorted(rows))
    if not path.is_dir():
        raise DataError(
            "task.data_dir must be a folder of class folders, or a CSV file with the columns filename,label;"
            f" set task.data_dir. Received: {path}."
        )
    beside = sum(is_picture(Path(file.name)) and file.is_file() for file in path.iterdir())
    left_out: Counter[str] = Counter({"pictures that are in no folder": beside} if beside else {})
    others = (file for file in path.iterdir() if file.is_file() and not is_picture(Path(file.name)) and not is_leftover(file.name))
    left_out.update(map(_kind, others))
    folders, splits = _class_folders(path), None
    if by_split := _of_splits(folders):
        splits = {split: [text(folder.name) for folder in found] for split, found in by_split.items()}
        owner: dict[str, str] = {}
        for split, names in splits.items():
            for name in names:
                if owner.setdefault(name, split) != split:
                    raise DataError(
                        f"{path}: a class must be in one split, because few-shot tests are on new classes; put all pictures of a class into"
                        f" {path.name}/<class>/, and set task.class_split. Received: {name!r} in {owner[name]} and {split}."
                    )
        folders = [folder for found in by_split.values() for folder in found]
    pictures: list[tuple[str, Path]] = []
    named: dict[str, Path] = {}
    for folder in folders:
        name = text(folder.name)
        if named.setdefault(name, folder) != folder:
            raise DataError(f"{path}: two folders have the name {name!r}, in two ways of writing its letters; rename one of them.")
        found = pictures_in(folder)
        left_out.update(_others(folder, found))
        if not found:
            raise DataError(f"{folder} must hold pictures ({', '.join(sorted(extensions()))}). Received: none.")
        pictures += [(name, file) for file in found]
    if not pictures:
        received = f"pictures that are in no folder ({beside})" if beside else "none"
        raise DataError(f"{path} must hold a folder of pictures for each class, or name pictures. Received: {received}.")
    kinds = _in_words(left_out)
    return PictureFiles(sorted(pictures), splits, f"left out, as no pictures in a class's folder: {kinds}" if kinds else "")


def pictures_in(folder: Path) -> list[Path]:
    """The pictures of a folder at any depth, sorted, as `listed` finds those of a class: links are followed, leftovers skipped.

    Example:

    >>> pictures_in(Path("birds/owl"))
    [PosixPath('birds/owl/1.png')]
    """
    return sorted(file for file in _files(folder) if is_picture(file.relative_to(folder)) and file.is_file())


def others_in(folder: Path, pictures: Iterable[Path]) -> str:
    """What a folder holds beside its pictures, in words; empty if there is nothing.

    Example:

    >>> others_in(Path("birds/owl"), pictures_in(Path("birds/owl")))
    '.txt (2)'
    """
    return _in_words(_others(folder, pictures))


def _others(folder: Path, pictures: Iterable[Path]) -> Counter[str]:
    return Counter(_kind(file) for file in set(_files(folder)).difference(pictures))


def _in_words(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in sorted(kinds.items()))


def text(name: str) -> str:
    """A file's name as text: composed letters (NFC), and bytes that are not UTF-8 as escapes.

    macOS writes é as e with an accent, other systems as one letter: a class has one name on both.

    Example:

    >>> text("cafe\\u0301"), text("caf\\udce9")
    ('café', 'caf\\\\xe9')
    """
    return unicodedata.normalize("NFC", os.fsencode(name).decode("utf-8", "backslashreplace"))


def _class_folders(path: Path) -> list[Path]:
    return sorted(folder for folder in path.iterdir() if folder.is_dir() and not is_leftover(folder.name))


def _of_splits(folders: list[Path]) -> dict[str, list[Path]] | None:
    """The class folders of each split, if all folders are splits: two or more, with folders and without pictures of their own."""
    found: dict[str, list[Path]] = {}
    for folder in folders:
        split = SPLIT_NAMES.get(folder.name.lower())
        inside = _class_folders(folder)
        if split is None or split in found or not inside or any(is_picture(Path(file.name)) for file in folder.iterdir() if file.is_file()):
            return None
        found[split] = inside
    return {split: found[split] for split in SPLITS if split in found} if len(found) > 1 else None


def _files(folder: Path) -> Iterator[Path]:
    """The files below a folder, without leftovers; a folder that links lead to twice is read once."""

    def failed(error: OSError) -> None:
        raise error

    seen: set[str] = set()
    for place, folders, files in os.walk(folder, onerror=failed, followlinks=True):
        real = os.path.realpath(place)
        folders[:] = [] if real in seen else [name for name in folders if not is_leftover(name)]
        if real not in seen:
            yield from (Path(place, name) for name in files if not is_leftover(name))
        seen.add(real)


def _kind(file: Path) -> str:
    if not file.exists():
        return "links that lead nowhere"
    return f"{text(file.suffix.lower())}" or "without an ending"


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
    found = []
    for number, row in enumerate(rows, 2):
        label, name = row["label"], row["filename"] or ""
        ways = (path.parent / way for way in (name, *(unicodedata.normalize(form, name) for form in ("NFC", "NFD"))))
        file = next((way for way in ways if os.path.isfile(way)), None)
        if not label or file is None:
            received = f"{Path(name).name},{label}"[:120]
            raise DataError(f"{path}, line {number}: needs a file that is there, and a label. Received: {received}.")
        found.append((unicodedata.normalize("NFC", label), file))
    return found
