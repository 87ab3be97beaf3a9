"""Configuration files as plain dictionaries: YAML, `extends: other.yaml`, and `key.sub=value` overrides."""

import re
from pathlib import Path

import yaml

from stochlwta_tf.errors import ConfigurationError


class _Loader(yaml.SafeLoader):
    """SafeLoader that reads `1e-4` as a number, as YAML 1.2 does, and refuses a key that is given twice."""

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a name", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)


_Loader.add_implicit_resolver("tag:yaml.org,2002:float", re.compile(r"[-+]?[0-9][0-9_]*(\.[0-9_]*)?[eE][-+]?[0-9]+$"), list("-+0123456789"))


def _parse(text, where):
    try:
        return yaml.load(text, Loader=_Loader)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        raise ConfigurationError(f"{where}{place}: not valid YAML: {getattr(error, 'problem', None) or error}.") from error


def merge(base, top):
    """The sections of `base` with the values of `top` over them.

    A section whose `name` changes is replaced whole: the options of one learner, network or task mean nothing to another.
    """
    merged = {**base, **top}
    for section in base.keys() & top.keys():
        old, new = base[section], top[section]
        if isinstance(old, dict) and isinstance(new, dict) and new.get("name", old.get("name")) == old.get("name"):
            merged[section] = {**old, **new}
    return merged


def read(path, _parents=()):
    """The dictionary of a YAML file, laid over that of the file it `extends` (a path relative to its own folder).

    Args:
        path: The file.

    Raises:
        ConfigurationError: The file is missing, unreadable, not YAML, not a mapping, or extends itself.

    Example:

        values = read("configs/omniglot_20w1s.yaml")
    """
    path = Path(path)
    if path.resolve() in _parents:
        raise ConfigurationError(f"{path}: extends itself.")
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not a text file in UTF-8.") from error
    except OSError as error:
        by = f" (which {_parents[-1].name} extends)" if _parents else ""
        raise ConfigurationError(f"{path}{by}: cannot read the configuration: {error.strerror}.") from error
    values = _parse(text, path)
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: must hold keys and values such as `seed: 0`. Received: {str(values)[:60]!r}.")
    parent = values.pop("extends", None)
    if parent is None:
        return values
    if not isinstance(parent, str):
        raise ConfigurationError(f"{path}: extends must be the name of a YAML file. Received: extends={parent!r}.")
    return merge(read(path.parent / parent, (*_parents, path.resolve())), values)


def override(values, assignments):
    """`values` with `key=value` and `section.key=value` assignments over them; each value is read as YAML.

    Raises:
        ConfigurationError: An assignment has no `=`, or its key is not one name or two joined by a dot.

    Example:

        override({"seed": 0}, ["seed=3", "task.way=20"])  # {"seed": 3, "task": {"way": 20}}
    """
    changes = {}
    for assignment in assignments:
        key, equals, text = assignment.partition("=")
        section, dot, option = key.strip().partition(".")
        if not equals or not section or (dot and not option) or "." in option:
            raise ConfigurationError(f"--set needs key=value, for example training.iterations=1000. Received: {assignment!r}.")
        value = _parse(text, f"--set {assignment}")
        if not dot:
            changes[section] = value
        elif isinstance(changes.setdefault(section, {}), dict):
            changes[section][option] = value
        else:
            raise ConfigurationError(f"--set {assignment}: {section} was set to a value before. Received: {section}={changes[section]!r}.")
    return merge(values, changes)
