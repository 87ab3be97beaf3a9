"""What data a run was trained on, in its folder's `data.json`: the classes of each split, and a fingerprint of their images.

Which classes a split has may depend on the content of the data's folder: one more class changes a seeded `class_split`, so that a class
that was trained on would be tested.  Resuming and testing therefore use what was recorded when the run started.
"""

import os
import sys
from typing import NamedTuple

import pydantic

from stochlwta_tf.errors import DataError, UserError

# Options of a task that leave a split's images unchanged, and those that assign classes to splits.
_DRAWING = frozenset(
    ("way", "shot", "queries", "train_shot", "train_queries", "flip", "shift", "protocol", "data_dir", "duplicates", "skip_damaged")
)
_SPLITTING = ("name", "split_file", "class_split", "split_seed")


class Split(pydantic.BaseModel):
    """One split: its classes' names (before any rotation), its number of images, `ClassBank.fingerprint`, damaged files skipped, notes."""

    model_config = pydantic.ConfigDict(frozen=True, strict=True)

    classes: tuple[str, ...]
    images: int
    fingerprint: str
    skipped: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


_RECORD = pydantic.TypeAdapter(dict[str, Split])


class TrainedOn(NamedTuple):
    """What a test must know about a run's data.

    Attributes:
        classes: Names of the classes that were trained on.
        test: The recorded test `Split`, if the test uses its classes; else None.
        same_images: Whether the test's images must be those of `test`, because the options that produce them are the run's.
    """

    classes: tuple = ()
    test: Split | None = None
    same_images: bool = False


def describe(splits):
    """The `Split` of each of a dictionary of task distributions, as plain values; empty for regression.

    Example:

    >>> describe({"train": tasks})
    {'train': {'classes': ['cat', 'dog'], 'images': 40, 'fingerprint': '9f8…'}}
    """
    return {name: split_of(tasks).model_dump(mode="json", exclude_defaults=True) for name, tasks in splits.items() if tasks.bank}


def split_of(tasks):
    """The `Split` of a task distribution of classes."""
    from stochlwta_tf.tasks.class_bank import ClassBank  # here, so that a wrong command is named without TensorFlow

    bank = tasks.bank
    names = dict.fromkeys(map(ClassBank.unrotated, bank.names))  # each once, in order
    return Split(
        classes=tuple(names), images=int(bank.count.sum()), fingerprint=bank.fingerprint(), skipped=tasks.skipped, notes=tuple(tasks.notes)
    )


def read(path):
    """The recorded splits, `{name: Split}`; None if there is no record: the run is a regression, or older than the records.

    Raises:
        UserError: The file is damaged.
    """
    if not os.path.exists(path):
        return None
    try:
        return _RECORD.validate_json(path.read_bytes())
    except (OSError, ValueError) as error:
        raise UserError(
            f"{path}: the record of the training data cannot be read; restore it, or delete it to use the current data."
            f" Received: {str(error).splitlines()[0]}."
        ) from error


def classes(record, split):
    """The recorded classes of a split, or None."""
    return record[split].classes if record and split in record else None


def check(path, record, splits):
    """Refuses to resume a training whose data differs from its record.

    Args:
        path: The record's file, for the message.
        record: The result of `read`.
        splits: The current task distributions.

    Raises:
        DataError: A split's data differs; the message says which and how.
    """
    for name, tasks in splits.items():
        if name in record and (changed := difference(record[name], split_of(tasks))):
            raise DataError(
                f"{path}: the {name} data has changed since the run started, so resuming would train another model; restore the data, or"
                f" start a new run in another folder with --out. Received: {changed}."
            )


def recall(record, splits):
    """Gives task distributions the recorded notes: where classes are recorded, pictures that two splits share are no longer looked for.

    Args:
        record: The result of `read`.
        splits: Task distributions by split.
    """
    for name, tasks in splits.items():
        if name in record:
            tasks.notes = tuple(dict.fromkeys((*record[name].notes, *tasks.notes)))


def difference(old, new):
    """How two `Split`s differ, in words; None where they do not."""
    gone, more = ([c for c in a.classes if c not in b.classes] for a, b in ((old, new), (new, old)))
    if gone or more:
        return "; ".join(f"classes {what}: {len(c)}, the first {c[0]!r}" for c, what in ((gone, "removed"), (more, "added")) if c)
    if old.classes != new.classes:
        return "the same classes in a different order"
    if old.images != new.images:
        return f"{new.images} images instead of {old.images}"
    return "the same number of images, with different pixels" if old.fingerprint != new.fingerprint else None


def unknown(path):
    """Reports that a run has no record."""
    print(f"{path}: missing, because the run is older; its classes are derived from the current data.", file=sys.stderr)


def trained_on(record, run, config):
    """What a test must know about a run's recorded data.

    Args:
        record: The result of `read`, not None.
        run: The run's own `Configuration`.
        config: The test's.
    """
    ours, theirs = (c.resolved()["task"] for c in (run, config))
    test = record.get("test") if all(ours.get(key) == theirs.get(key) for key in _SPLITTING) else None
    same = all(ours.get(key) == theirs.get(key) for key in (ours.keys() | theirs.keys()) - _DRAWING)
    return TrainedOn(record["train"].classes if "train" in record else (), test, bool(test) and same and run.protocol == config.protocol)
