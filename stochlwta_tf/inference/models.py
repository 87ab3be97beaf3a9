"""The trained models of the package, by name: `models/<name>.keras`, each with a card, `models/<name>.yaml`."""

from pathlib import Path
from typing import Any

import yaml

_PACKAGE = Path(__file__).parents[1]
#: Inside the package when it is installed, next to it in a checkout.
_FOLDER = _PACKAGE / "models" if (_PACKAGE / "models").is_dir() else _PACKAGE.parent / "models"


def models() -> dict[str, Path]:
    """The model files by name, in alphabetical order.

    Example:

    >>> sorted(models())[0]
    'omniglot_5w1s'
    """
    return {path.stem: path for path in sorted(_FOLDER.glob("*.keras"))}


def card(name: str) -> dict[str, Any]:
    """What is known of a model: what it is for, how it was trained, how well it did in which test, its data, limits and licence.

    Args:
        name: Of a model, such as `"omniglot_5w1s"`.

    Example:

    >>> card("omniglot_5w1s")["task"]["way"]
    5
    """
    loaded: dict[str, Any] = yaml.safe_load(models()[name].with_suffix(".yaml").read_text(encoding="utf-8"))
    return loaded
