"""Which classes are for training, validation and testing: from a file, or from a seed."""

import csv
import io
import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import numpy as np
import yaml
from pydantic import Field

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks.reading import named
from stochlwta_tf.tasks.task import SPLITS

NotNegative = Annotated[float, Field(ge=0)]
#: What people call the splits, in files and folders.
SPLIT_NAMES = {"train": "train", "validation": "validation", "valid": "validation", "val": "validation", "test": "test"}


def from_file(path: str | Path) -> dict[str, list[str]]:
    """The classes of each split, read from a file.

    A YAML or JSON file maps `train`, `validation` (or `val`, `valid`) and `test` to lists of class names; a CSV file has the columns
    `split` and `class`.

    Args:
        path: The file; its extension determines its kind.

    Raises:
        DataError: If it cannot be read, or has other content.

    Example:

    >>> from_file("splits.yaml")
    {'train': ['cat', 'dog'], 'test': ['owl']}
    """
    path = named(path, "task.split_file")
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".csv":
            groups: dict[str, list[str]] = {}
            for row in csv.DictReader(io.StringIO(text)):
                groups.setdefault(row["split"], []).append(row["class"])
        else:
            groups = yaml.load(text, Loader=yaml.BaseLoader)  # JSON is YAML; every name is text, be it 010, 12:30 or no
    except OSError as error:
        raise DataError(f"split_file cannot be read: {error.strerror}. Received: split_file={path}.") from error
    except KeyError as error:
        raise DataError(f"{path}: the first line must be split,class. Received: no column {error}.") from error
    except (csv.Error, yaml.YAMLError, ValueError, TypeError, AttributeError, RecursionError) as error:  # PyYAML's own, and Python's
        raise DataError(f"{path}: not a text file of its kind. Received: {str(error).splitlines()[0]}.") from error
    if not isinstance(groups, dict) or not groups or not all(map(_is_names, groups.values())):
        raise DataError(f"{path}: must map {', '.join(SPLITS)} to lists of classes. Received: {str(groups)[:80]}.")
    unknown = [str(name) for name in groups if name not in SPLIT_NAMES]
    if unknown:
        raise DataError(f"{path}: splits are called {', '.join(SPLITS)}. Received: {', '.join(unknown)[:80]}.")
    found: dict[str, list[str]] = {}
    for name, names in groups.items():  # composed letters, as the folders' names
        found.setdefault(SPLIT_NAMES[name], []).extend(unicodedata.normalize("NFC", each) for each in names)
    return found


def _is_names(values: object) -> bool:
    return isinstance(values, list) and all(isinstance(name, str) for name in values)


def by_seed(names: Sequence[str], sizes: Sequence[float], seed: int) -> dict[str, list[str]]:
    """The classes of each split in a random order of the names, which depends only on the seed and the names.

    Args:
        names: All classes.
        sizes: Of training, validation and testing: fractions that sum to 1 (rounded; the test gets the rest), or numbers of classes.
        seed: Of the order.

    Raises:
        ConfigurationError: If the sizes are neither, or exceed the number of classes.

    Example:

    >>> by_seed(["a", "b", "c", "d"], (0.5, 0.25, 0.25), seed=0)
    {'train': ['c', 'd'], 'validation': ['b'], 'test': ['a']}
    """
    n = len(names)
    if math.isclose(sum(sizes), 1.0, abs_tol=1e-6):
        train, validation = round(sizes[0] * n), round(sizes[1] * n)
        validation = min(validation, n - train)
        counts: tuple[int, ...] = (train, validation, n - train - validation if sizes[2] else 0)
    elif all(float(size).is_integer() for size in sizes) and sum(sizes) <= n:
        counts = tuple(map(int, sizes))
    else:
        given = ", ".join(f"{size:g}" for size in sizes)
        raise ConfigurationError(
            f"class_split must be three fractions that sum to 1, or three numbers of classes out of {n}. Received: class_split=[{given}]."
        )
    order = iter(np.random.RandomState(seed).permutation(sorted(names)).tolist())
    return {split: sorted(next(order) for _ in range(count)) for split, count in zip(SPLITS, counts, strict=True)}
