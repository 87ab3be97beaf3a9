"""Former names of keys, which kept runs and existing files still have."""

import sys

_said: set[tuple[str, str]] = set()


def current(values, names, silent=False):
    """A configuration's values under their current names; each renaming is said once in a process.

    Where a value is given under both names, the one that was merged last counts.

    Args:
        values: Dictionary of a configuration.
        names: `{section: {former name: current name}}`.
        silent: Whether nothing is said, as of kept results, which nobody can write anew.

    Example:

    >>> current({"training": {"batch": 4}}, {"training": {"batch": "meta_batch_size"}})
    {'training': {'meta_batch_size': 4}}
    """
    renamed, found = dict(values), []
    for section, new_names in names.items():
        if not isinstance(values.get(section), dict):
            continue
        found += [(f"{section}.{old}", f"{section}.{new}") for old, new in new_names.items() if old in values[section]]
        renamed[section] = {new_names.get(key, key): value for key, value in values[section].items()}
    if not silent:
        _say([pair for pair in found if pair not in _said])
    return renamed


def _say(pairs):
    if pairs:
        _said.update(pairs)
        print(f"Former names of keys are read as their present ones: {', '.join(f'{old} → {new}' for old, new in pairs)}.", file=sys.stderr)
