"""The trained models of the package, by name: `models/<name>.keras`, each with a card, `models/<name>.yaml`."""

from pathlib import Path
from typing import Any

from stochlwta_tf.config import lookup, yaml_file


def models() -> dict[str, Path]:
    """The model files by name, in alphabetical order.

    Example:

    >>> "omniglot_5w1s" in models()
    True
    """
    return {path.stem: path for path in sorted(lookup.packaged("models").glob("*.keras"))}


def card(name: str) -> dict[str, Any]:
    """What is known of a model: what it is for, how it was trained, how well it did in which test, its data, limits and licence.

    Args:
        name: Of a model, such as `"omniglot_5w1s"`.

    Example:

    >>> card("omniglot_5w1s")["task"]["way"]
    5
    """
    loaded: dict[str, Any] = yaml_file.read(models()[name].with_suffix(".yaml"))
    return loaded
