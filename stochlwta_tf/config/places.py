"""Where the files of a configuration are: relative paths made absolute, so that a run can be tested from any folder."""

import os
from pathlib import Path

#: The options of each section that are paths.
PATHS = {"task": ("data_dir", "split_file"), "training": ("initial_weights",)}


def located(values, folder):
    """The values of a configuration file with its paths made absolute.

    A relative path is relative to the file that names it, as in `extends`; where nothing is there it is relative to the working folder, as
    in the files of earlier versions.

    Args:
        values: The file's values, a dictionary.
        folder: The file's folder; None for `--set`, whose paths are relative to the working folder.

    Example:

    >>> located({"task": {"data_dir": "/data/birds"}}, "configs")
    {'task': {'data_dir': '/data/birds'}}
    """
    found = {name: values[name] for name in PATHS if isinstance(values.get(name), dict)}
    return values | {
        name: {key: _absolute(value, folder) if key in PATHS[name] else value for key, value in section.items()}
        for name, section in found.items()
    }


def _absolute(value, folder):
    if not isinstance(value, str) or not value or value.startswith("~") or "\0" in value or Path(value).is_absolute():
        return value
    beside = Path(folder or "", value)
    return os.path.abspath(beside if os.path.lexists(beside) or not os.path.lexists(value) else value)


def unplaced(task):
    """The task section without what differs between machines: no `data_dir`, and of `split_file` the name alone.

    Example:

    >>> unplaced({"way": 5, "data_dir": "/data/birds", "split_file": "/data/birds/splits.yaml"})
    {'way': 5, 'split_file': 'splits.yaml'}
    """
    kept = {key: value for key, value in task.items() if key != "data_dir"}
    if kept.get("split_file"):
        kept["split_file"] = Path(kept["split_file"]).name
    return kept
