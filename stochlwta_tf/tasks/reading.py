"""Files and folders that people name, and what can be wrong with them."""

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path

from stochlwta_tf.errors import DataError


def named(path: str | Path, what: str) -> Path:
    """The path that a person gave, with `~` expanded; it need not exist.

    Args:
        path: As it was given.
        what: The option or variable that it was given as, for the message.

    Raises:
        DataError: If no file can have that name, or it begins with `~` and there is no home folder.

    Example:

    >>> named("birds/owls", "data_dir").name
    'owls'
    """
    try:
        found = Path(path).expanduser()
        os.stat(found)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except RuntimeError as error:  # as for a container's user without an entry in passwd
        raise DataError(f"{what} must name a file or folder, because there is no home folder. Received: {path}.") from error
    except (OSError, ValueError) as error:  # too long; a null byte
        reason = getattr(error, "strerror", None) or error
        raise DataError(f"{what} must name a file or folder: {reason}. Received: {what}={str(path)[:80]!r}.") from error
    return found


@contextlib.contextmanager
def reading(path: str | Path) -> Iterator[None]:
    """Turns what a file system can refuse while data is read into a one-line error.

    Raises:
        DataError: A file cannot be read.

    Example:

    >>> with reading("birds"):
    ...     Path("birds/1.png").read_bytes()
    Traceback (most recent call last):
    stochlwta_tf.errors.DataError: birds/1.png: cannot be read: No such file or directory.
    """
    try:
        yield
    except OSError as error:
        raise DataError(f"{error.filename or path}: cannot be read: {error.strerror or error}.") from error
