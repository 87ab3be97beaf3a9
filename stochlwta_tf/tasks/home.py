"""Paths that begin with `~`, where there may be no home folder."""

from pathlib import Path

from stochlwta_tf.errors import DataError


def expanded(path: str | Path, setting: str) -> Path:
    """A path with `~` replaced by the home folder.

    Args:
        path: The path.
        setting: What to set instead where there is no home folder, for the message.

    Raises:
        DataError: The path begins with `~` and there is no home folder, as for a container's user without an entry in passwd.

    Example:

    >>> expanded("data/birds", "task.data_dir").as_posix()
    'data/birds'
    """
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise DataError(f"there is no home folder; set {setting} to a folder. Received: {path}.") from error
