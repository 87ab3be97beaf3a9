"""Configuration files as plain dictionaries: YAML, `extends: [other.yaml, …]`, and `key.sub=value` overrides."""

import copy
import functools
import os
import re
from pathlib import Path

import yaml

from stochlwta_tf.config import lookup
from stochlwta_tf.errors import ConfigurationError

# Whole and decimal numbers of YAML 1.2, in which 010 is 10, 1e-4 a number and 12:30 text; underscores are allowed, as in Python.
_INT = re.compile(r"([-+]?[0-9][0-9_]*|0o[0-7]+|0x[0-9a-fA-F]+)$")
_FLOAT = re.compile(r"[-+]?(\.[0-9][0-9_]*|[0-9][0-9_]*(\.[0-9_]*)?)([eE][-+]?[0-9]+)?$|[-+]?\.(inf|Inf|INF)$|\.(nan|NaN|NAN)$")
_TAG = "tag:yaml.org,2002:{}"
_REPLACED = [_TAG.format(kind) for kind in ("int", "float", "timestamp")]  # a date is text, too


class _Loader(yaml.SafeLoader):
    """SafeLoader with the numbers of YAML 1.2, which refuses a key that is given twice."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag not in _REPLACED]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def construct_mapping(self, node, deep=False):
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be a name", key.start_mark)
            if key.value in seen:
                raise yaml.constructor.ConstructorError(None, None, f"the key {key.value!r} is given twice", key.start_mark)
            seen.add(key.value)
        return super().construct_mapping(node, deep)

    def construct_yaml_int(self, node):
        digits = self.construct_scalar(node).replace("_", "")
        return int(digits, {"0o": 8, "0x": 16}.get(digits[:2], 10))


_Loader.add_constructor(_TAG.format("int"), _Loader.construct_yaml_int)


class _Dumper(yaml.SafeDumper):
    """SafeDumper that quotes text that either version of YAML would read as something else."""


for _class in (_Loader, _Dumper):
    _class.add_implicit_resolver(_TAG.format("int"), _INT, list("-+0123456789"))
    _class.add_implicit_resolver(_TAG.format("float"), _FLOAT, list("-+.0123456789"))

_DEEPEST, _LARGEST = 20, 100_000  # sections in sections, and values with all that aliases repeat: far beyond any configuration


def dump(values, **options):
    """Values as YAML that this module, and any other reader, reads back as they are; `options` are PyYAML's.

    Example:

    >>> dump({"seed": 10, "name": "010"})
    "seed: 10\\nname: '010'\\n"
    """
    return yaml.dump(values, Dumper=_Dumper, sort_keys=False, allow_unicode=True, **options)


def _parse(text, where):
    return copy.deepcopy(_parsed(text, where))


@functools.lru_cache(maxsize=1024)  # a page of results loads hundreds of configurations, which share their parts
def _parsed(text, where):
    try:
        values = yaml.load(text, Loader=_Loader)
        _size(values, {}, 0)
        return values
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}, column {mark.column + 1}" if mark else ""
        reason = str(getattr(error, "problem", None) or error).splitlines()[0]
        raise ConfigurationError(f"{where[:200]}{place}: not valid YAML: {reason}.") from error
    except RecursionError as error:
        raise ConfigurationError(f"{where[:200]}: not valid YAML: it is nested too deeply.") from error
    except (ValueError, TypeError, AttributeError, LookupError, OverflowError) as error:  # what PyYAML raises on a wrong date or number
        raise ConfigurationError(f"{where[:200]}: not valid YAML: a value cannot be read ({str(error).splitlines()[0]}).") from error


def _size(value, sizes, depth):
    """How many values there are, an alias counted wherever it is used: a few lines of aliases can stand for more than fits into memory."""
    if depth > _DEEPEST:
        raise yaml.YAMLError(f"it is nested more than {_DEEPEST} deep")
    if id(value) not in sizes:
        parts = value.values() if isinstance(value, dict) else value if isinstance(value, list | tuple | set) else ()
        sizes[id(value)] = 1 + sum(_size(part, sizes, depth + 1) for part in parts)
    if sizes[id(value)] > _LARGEST:
        raise yaml.YAMLError(f"its aliases repeat more than {_LARGEST} values")
    return sizes[id(value)]


def merge(base, top):
    """The sections of `base`, overridden by the values of `top`.

    A section whose `name` changes is replaced as a whole, because the options of one learner, network or task do not apply to another.
    Options given before there is a name stay: one part may set what several learners share, and a later part the learner.  The options
    of a section are in the order in which they were last set.
    """
    merged = {**base, **top}
    for section in base.keys() & top.keys():
        old, new = base[section], top[section]
        if isinstance(old, dict) and isinstance(new, dict) and ("name" not in old or new.get("name", old["name"]) == old["name"]):
            merged[section] = {**{key: value for key, value in old.items() if key not in new}, **new}
    return merged


def read(path):
    """The values of a YAML file, merged over those of the files that it `extends`: its `layers`, in order.

    Args:
        path: The file.

    Raises:
        ConfigurationError: As `layers`.

    Example:

    >>> read("configs/omniglot_20w1s.yaml")["task"]["way"]
    20
    """
    return functools.reduce(merge, (values for _, values in layers(path)))


def layers(path, _parents=()):
    """A YAML file and the files that it extends, as (path, values) pairs; later ones override earlier ones.

    `extends` names one file or a list of them, each relative to the folder of the file that names it, or else by name as on the command
    line.  Later ones override earlier ones, and the file's own values override them all.

    Args:
        path: The file.

    Raises:
        ConfigurationError: A file is missing, unreadable, not YAML, not a mapping, or extends itself, directly or through others.

    Example:

    >>> [file.name for file, _ in layers("configs/omniglot_20w1s_eq10.yaml")][-1]
    'omniglot_20w1s_eq10.yaml'
    """
    path = Path(path)
    if "\0" in str(path):
        raise ConfigurationError(f"{str(path)!r}: cannot read the configuration: no file has a NUL character in its name.")
    try:
        whole = path.resolve()
        if whole in _parents:
            between = ", ".join(parent.name for parent in _parents[_parents.index(whole) + 1 :])
            raise ConfigurationError(f"{path}: extends itself{between and f' through {between}'}.")
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not a text file in UTF-8.") from error
    except (OSError, ValueError, RuntimeError) as error:  # the last two for a null byte in a name, and a loop of links
        by = f" (which {_parents[-1].name} extends)" if _parents else ""
        reason = getattr(error, "strerror", None) or error
        raise ConfigurationError(f"{str(path)[:200]}{by}: cannot read the configuration: {reason}.") from error
    values = _parse(text, str(path))
    if not isinstance(values, dict):
        raise ConfigurationError(f"{path}: must hold keys and values such as `seed: 0`. Received: {str(values)[:60]!r}.")
    extended = values.pop("extends", None)
    names = extended if isinstance(extended, list) else [] if extended is None else [extended]
    if extended == [] or not all(isinstance(name, str) and name for name in names):
        raise ConfigurationError(
            f"{path}: extends must be the name of a YAML file, or a list of such names. Received: extends={extended!r}."
        )
    below = [layer for name in names for layer in layers(_extended(path, name), (*_parents, whole))]
    return [*below, (path, values)]


def _extended(path, name):
    """The file that another one extends: relative to its folder, or else a configuration by name, as `lookup.find` has it."""
    beside = path.parent / name
    if ".." in Path(name).parts or not _missing(beside):
        return beside
    try:
        found = lookup.find(name)
    except ConfigurationError as error:
        reason = str(error).partition(": ")[2]
        raise ConfigurationError(f"{beside} (which {path.name} extends): {reason}") from error
    return found if os.path.isfile(found) else beside


def _missing(path):
    """Whether there is nothing of this name; whatever else is wrong with it, reading it will say."""
    try:
        os.lstat(path)
    except (OSError, ValueError) as error:
        return isinstance(error, FileNotFoundError)
    return False


def override(values, assignments):
    """`values` overridden by `key=value` and `section.key=value` assignments; each value is read as YAML.

    Raises:
        ConfigurationError: As `assigned`.

    Example:

    >>> override({"seed": 0}, ["seed=3", "task.way=20"])
    {'seed': 3, 'task': {'way': 20}}
    """
    return merge(values, assigned(assignments))


def assigned(assignments):
    """The dictionary that `key=value` and `section.key=value` assignments make.

    Raises:
        ConfigurationError: An assignment has no `=`, or its key is not one name or two joined by a dot.
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
    return changes


def origins(layers):
    """The source of each value, given (source, values) pairs of which later ones override earlier ones, as from `layers`.

    Returns:
        A dict from `(key,)`, or `(section, key)` for what is in a section, to the source.

    Example:

    >>> origins([("a", {"task": {"way": 5, "shot": 1}}), ("b", {"task": {"way": 20}})])
    {('task', 'shot'): 'a', ('task', 'way'): 'b'}
    """
    merged, found = {}, {}
    for source, values in layers:
        merged, given = merge(merged, values), set(_keys(values))
        found = {key: source if key in given else found[key] for key in _keys(merged)}
    return found


def _keys(values):
    for section, value in values.items():
        yield from ((section, key) for key in value) if isinstance(value, dict) else [(section,)]
