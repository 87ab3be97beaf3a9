"""Schemas derived from signatures, and one-line errors.

The signature of a task class, network function or learner class declares its options with their types, bounds and defaults
(`inner_lr: Annotated[float, Field(gt=0)] = 0.003`).  A new one is therefore validated without a change here.
"""

import difflib
import inspect
import json
import re
from typing import Literal, get_args, get_type_hints

import pydantic

from stochlwta_tf.errors import ConfigurationError

_VARIABLE = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)


class Section(pydantic.BaseModel):
    """One section of a configuration: no unknown keys, no guessed types, no infinities."""

    model_config = pydantic.ConfigDict(extra="forbid", strict=True, frozen=True, allow_inf_nan=False, protected_namespaces=())

    def options(self):
        """The section without its `name`, as keyword arguments."""
        return {key: getattr(self, key) for key in type(self).model_fields if key != "name"}


def options_of(callable_, given):
    """The options of a function or class, as `{name: (annotation, default)}` for `pydantic.create_model`.

    Parameters in `given` are filled in by the program.  Where a class takes `**options` its base classes are read too; a function names
    the class that its `**options` go to in its attribute `options_of`.

    Args:
        callable_: Function or class.
        given: Names of the parameters that are not options.

    Raises:
        TypeError: An option has no annotation: its values could not be checked.

    Example:

    >>> options_of(dense_lwta, given=("input_shape", "outputs"))["max_pool"]
    (<class 'bool'>, False)
    """
    found = {}
    for source in sources_of(callable_):
        function = source.__init__ if inspect.isclass(source) else source
        hints = get_type_hints(function, include_extras=True)
        for name, parameter in inspect.signature(function).parameters.items():
            if name == "self" or name in given or name in found or parameter.kind in _VARIABLE:
                continue
            if name not in hints:
                raise TypeError(f"The option `{name}` of {function.__qualname__} has no annotation.")
            found[name] = (hints[name], ... if parameter.default is inspect.Parameter.empty else parameter.default)
    return found


def sources_of(callable_):
    """What declares a callable's options: itself, and the class or classes that its `**options` are passed on to, up to Keras's own.

    Example:

    >>> [source.__name__ for source in sources_of(FOMAML)]
    ['FOMAML', 'MAML', 'MetaLearner', 'CompiledModel']
    """
    if not inspect.isclass(callable_):
        yield callable_
        yield from sources_of(callable_.options_of) if hasattr(callable_, "options_of") else ()
        return
    for base in inspect.getmro(callable_):
        if base.__module__.split(".")[0] in ("keras", "builtins"):
            return
        if "__init__" in vars(base):
            yield base
            if not any(p.kind is inspect.Parameter.VAR_KEYWORD for p in inspect.signature(base.__init__).parameters.values()):
                return


def section(kind, name, callable_, given):
    """The `Section` class of a registered callable: its `name`, and its options."""
    return pydantic.create_model(kind, __base__=Section, name=(Literal[name], ...), **options_of(callable_, given))


def validate(model, values, where):
    """An instance of `model` from plain values.

    Raises:
        ConfigurationError: The first error, as one line.
    """
    try:  # through JSON, where strict mode accepts a list for a tuple
        return model.model_validate_json(json.dumps(values, default=str))
    except pydantic.ValidationError as error:
        raise ConfigurationError(f"{where}: {_one_line(error.errors()[0], model)}") from error


def _one_line(error, model):
    # Without the names of union members; a key that is not one of ours may be anything.
    loc = error["loc"]
    path = [str(part) for i, part in enumerate(loc, 1) if not isinstance(part, str) or part.isidentifier() or i == len(loc)]
    key, value, message = ".".join(path), error["input"], error["msg"].removeprefix("Value error, ")
    if error["type"] == "extra_forbidden":
        *parents, last = path
        for part in parents:
            model = model if part.isdigit() else _section_in(model.model_fields[part].annotation)
        return unknown("key", key, last, [field.alias or name for name, field in model.model_fields.items()])
    if error["type"] == "missing":
        return f"{key} is missing."
    if error["type"] == "value_error":
        return message
    received = json.dumps(value) if isinstance(value, (str, bool, int, float, type(None))) else str(value)
    return f"{key} {re.sub(r'^(Input|String|Tuple|Value) should', 'must', message)}. Received: {key}={received[:80]}."


def _section_in(annotation):
    """The first section class in an annotation, such as `Row` in `tuple[Row, ...]`."""
    if isinstance(annotation, type) and not get_args(annotation):
        return annotation if issubclass(annotation, pydantic.BaseModel) else None
    return next((found for part in get_args(annotation) if (found := _section_in(part))), None)


def unknown(what, key, name, known):
    """The error line for an unknown name, with the closest known one."""
    near = difflib.get_close_matches(str(name), known, n=1, cutoff=0.5)
    suggestion = f" Did you mean {near[0]!r}?" if near else ""
    return f"unknown {what} {key}.{suggestion} Allowed: {', '.join(known)}."
