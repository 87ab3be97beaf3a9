"""The established classes of each split of a data set (`class_lists.yaml`)."""

import functools
from pathlib import Path
from typing import Any

import yaml


@functools.cache
def _all() -> dict[str, Any]:
    return yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def class_list(name: str) -> Any:
    """The classes of each split, as `{"train": names, "validation": names, "test": names}`.

    Args:
        name: `"cifar_fs"`, `"fc100"` or `"miniimagenet"`; the last has a dict per split, from WordNet number to name.

    Example:

    >>> class_list("cifar_fs")["test"][:2]
    ['baby', 'bed']
    """
    return _all()[name]
