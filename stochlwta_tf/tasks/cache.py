"""Prepared images on disk, so that a data set is decoded or drawn once."""

import base64
import hashlib
import json
import logging
import os
import tempfile
import time
import weakref
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.reading import named

_FORMAT = 1
_HOUR = 3600.0
# Banks that this process has read and still uses: its splits share one, checked once.
_in_use: weakref.WeakValueDictionary[tuple, ClassBank] = weakref.WeakValueDictionary()


def cache_folder() -> Path:
    """The folder of prepared data: `$STOCHLWTA_CACHE`, else `stochlwta_tf` in `$XDG_CACHE_HOME` or `~/.cache`.

    Raises:
        DataError: None of them is set and there is no home folder.
    """
    default = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "stochlwta_tf"
    return named(os.environ.get("STOCHLWTA_CACHE") or default, "STOCHLWTA_CACHE")


def cached_bank(name: str, settings: dict[str, Any], build: Callable[[], ClassBank]) -> ClassBank:
    """The bank that `build()` makes, memory-mapped from the cache if it exists there.

    Each bank is two files, the images and then an index with their checksum and digests; each appears completely or not at
    all.  A process killed while writing therefore leaves no valid entry, and missing, truncated or altered files are rebuilt.

    Args:
        name: Name of the data set, begins the file names.
        settings: JSON-ready dict of everything that determines the content: preprocessing, versions.
        build: Function without arguments that returns a `ClassBank`.

    Raises:
        DataError: If the folder cannot be written.

    Example:

    >>> bank = cached_bank("letters", {"size": 28}, draw_letters)
    """
    settings = {"name": name, "format": _FORMAT, **settings}
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()[:16]
    stem = cache_folder() / f"{name}-{digest}"
    bank = _read(stem)
    if bank is None:
        logging.getLogger(__name__).info("Preparing %s in %s (once)", name, stem.parent)
        bank = build()
        try:
            _write(stem, settings, bank)
        except OSError as error:
            where = f"{stem.parent} ({error.strerror or error})"
            raise DataError(f"Cannot write prepared data to {where}; set STOCHLWTA_CACHE to a writable folder.") from error
        bank = _read(stem) or bank  # mapped from the file, so that the built arrays can be freed
    return bank


def _read(stem: Path) -> ClassBank | None:
    """The stored bank, or None if it is missing or damaged."""
    try:
        paths = stem.with_suffix(".json"), stem.with_suffix(".npy")
        state = tuple((str(path), status.st_ino, status.st_size, status.st_mtime_ns) for path in paths for status in [path.stat()])
        if state not in _in_use:
            index = json.loads(paths[0].read_text(encoding="utf-8"))
            images = np.load(paths[1], mmap_mode="r")
            if _checksum(paths[1], images.offset) != index["crc32"]:
                return None
            # Banks stored before digests were added are still valid.
            digests = np.frombuffer(base64.b64decode(index["digests"]), "uint8").reshape(-1, 16) if "digests" in index else None
            bank = ClassBank(images, index["first"], index["count"], index["names"], digests)
            bank.found = {name: [str(line) for line in lines] for name, lines in index.get("found", {}).items()}
            return _in_use.setdefault(state, bank)
        return _in_use[state]
    except (OSError, ValueError, EOFError, LookupError, TypeError, AttributeError, OverflowError, RecursionError, DataError):
        return None


def _checksum(path: Path, offset: int) -> int:
    """CRC-32 of a file from `offset` on; read, not mapped, because every touched page of a mapping counts as memory."""
    crc = 0
    with open(path, "rb") as file:
        file.seek(offset)
        while piece := file.read(1 << 22):
            crc = zlib.crc32(piece, crc)
    return crc


def _write(stem: Path, settings: dict[str, Any], bank: ClassBank) -> None:
    stem.parent.mkdir(parents=True, exist_ok=True)
    for left in stem.parent.glob(f".{stem.name}*"):  # by a killed process; a newer one may still be written
        if time.time() - left.stat().st_mtime > _HOUR:
            left.unlink(missing_ok=True)
    images = np.ascontiguousarray(bank.images)
    _replace(stem.with_suffix(".npy"), lambda file: np.save(file, images))
    index = {"settings": settings, "crc32": zlib.crc32(images.data), "first": bank.first.tolist(), "count": bank.count.tolist()}
    index["digests"] = base64.b64encode(bank.digests.tobytes()).decode()
    text = json.dumps({**index, "names": bank.names, **({"found": bank.found} if bank.found else {})})
    _replace(stem.with_suffix(".json"), lambda file: file.write(text.encode()))


def _replace(path: Path, write: Callable[[IO[bytes]], object]) -> None:
    """Writes a file next to `path` and moves it there atomically."""
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
        try:
            write(file)
            file.close()
            os.replace(file.name, path)
        except BaseException:
            file.close()
            Path(file.name).unlink(missing_ok=True)
            raise
