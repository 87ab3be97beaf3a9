"""What can be named: `train.py --list`, and the options of one name: `train.py --list omniglot`."""

import inspect
import itertools
import json
import re
import textwrap
from pathlib import Path

import docstring_parser
import pydantic

from stochlwta_tf.config import configuration, lookup, plugins, suites, yaml_file
from stochlwta_tf.config.schema import options_of, sources_of, unknown
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.inference import card, models

_BOUNDS = {"minimum": "≥", "exclusiveMinimum": ">", "maximum": "≤", "exclusiveMaximum": "<"}


def text(name=None, modules=()):
    """Tasks, networks, learners, suites, configurations and models, a line each; or the options of one task, network or learner.

    Args:
        name: Of a task, a network or a learner.
        modules: Modules that register more of them, as under a configuration's key `import`; installed packages' are included anyway.

    Raises:
        ConfigurationError: There is no such name, or a module cannot be imported.

    Example:

    >>> print(text("maml"))
    """
    plugins.load(modules, "--list")
    registries = configuration.registries()
    if name is None:
        return "\n".join(_everything(registries))
    for kind, registry in registries.items():
        if name in registry:
            return "\n".join(_options(kind, name, registry[name]))
    names = [known for registry in registries.values() for known in registry]
    raise ConfigurationError(f"--list: {unknown('name', name, name, names)}")


def _everything(registries):
    for kind, registry in registries.items():
        yield f"{kind}s (the key `{kind}.name`; --list NAME shows the options of one):"
        yield from _columns((name, _summary(named)) for name, named in registry.items())
    yield "suites (--suite NAME):"
    yield from _columns((name, suites.load(name).title) for name in lookup.suites())
    yield "configurations (--config NAME):"
    folders = [(place, folder) for place in (".", "recommended") for folder in reversed(lookup.folders(place))]
    files = {Path(place, path.stem).as_posix(): path for place, folder in folders for path in sorted(folder.glob("*.yaml"))}
    yield from _columns((name, _comment(path)) for name, path in sorted(files.items()))
    yield "models (load(NAME); predict.py --run NAME):"
    yield from _columns((name, card(name)["title"]) for name in models())


def _options(kind, name, named):
    yield f"{kind}.name: {name}: {_summary(named)}"
    meanings = _meanings(named)
    for option, (hint, default) in options_of(named, configuration.GIVEN[kind]).items():
        value = "required" if default is ... else f"{json.dumps(default, default=str)} by default"
        yield f"  {kind}.{option}: {_type(hint)}; {value}"
        yield from textwrap.wrap(meanings.get(option, ""), 110, initial_indent="      ", subsequent_indent="      ")


def _meanings(named):
    """What each option means, by the docstrings of what declares it."""
    meanings = {}
    for source in sources_of(named):
        for parameter in docstring_parser.parse(inspect.getdoc(source) or "", docstring_parser.DocstringStyle.GOOGLE).params:
            meanings.setdefault(parameter.arg_name, " ".join((parameter.description or "").split()))
    return meanings


def _type(hint):
    """What an option accepts, in words: `integer ≥ 1, or null`."""
    return _accepted(pydantic.TypeAdapter(hint).json_schema())


def _accepted(schema):
    if "anyOf" in schema:
        return ", or ".join(map(_accepted, schema["anyOf"]))
    if "enum" in schema or "const" in schema:
        return " | ".join(map(str, schema.get("enum", [schema.get("const")])))
    if schema.get("type") == "array":
        parts = schema.get("prefixItems", [schema.get("items", {})])
        return f"list of {', '.join(map(_accepted, parts))}"
    if "minimum" in schema and "maximum" in schema:
        return f"{schema['type']} from {schema['minimum']:g} to {schema['maximum']:g}"
    bounds = " and ".join(f"{sign} {schema[key]:g}" for key, sign in _BOUNDS.items() if key in schema)
    return " ".join(filter(None, [schema.get("type", "any"), bounds]))


def _summary(named):
    return (inspect.getdoc(named) or "").splitlines()[0]


def _comment(path):
    """The first sentence of the comment that a configuration file begins with, or its name."""
    lines = itertools.takewhile(lambda line: line.startswith("#"), path.read_text(encoding="utf-8").splitlines())
    comment = " ".join(line.removeprefix("#").strip() for line in lines)
    return re.split(r"\. (?=[A-Z])", comment)[0].rstrip(".") or str(yaml_file.read(path).get("name", ""))


def _columns(rows):
    rows = list(rows)
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    yield from ("  " + "  ".join(f"{cell:{width}}" for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
