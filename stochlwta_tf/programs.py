"""The names of the commands: `train.py` in a checkout, `stochlwta-train` where the package is installed."""

import sys
from pathlib import Path

_INSTALLED = "stochlwta-"


def program(script: str) -> str:
    """The name of a command, as the running command was started: `train.py`, or `stochlwta-train`.

    Example:

    >>> program("train.py")
    'train.py'
    """
    return f"{_INSTALLED}{script.removesuffix('.py').rpartition('.')[2]}" if Path(sys.argv[0]).stem.startswith(_INSTALLED) else script


def words(script: str, *arguments: str) -> list[str]:
    """The words of a command line for a shell: `python train.py …`, or `stochlwta-train …`.

    Example:

    >>> words("train.py", "--list")
    ['python', 'train.py', '--list']
    """
    name = program(script)
    return [*(["python"] if name == script else []), name, *arguments]
