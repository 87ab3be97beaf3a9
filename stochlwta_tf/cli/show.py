"""A configuration with the origin of each value, and what it builds: `train.py --config FILE --show`."""

import os
from types import SimpleNamespace

from stochlwta_tf.config import configuration, yaml_file
from stochlwta_tf.training import build


def text(path, assignments=()):
    """The resolved configuration as YAML, each value with the file that it comes from, `default` or `--set`; then sizes, as comments.

    Reads no data and writes nothing.

    Args:
        path: A configuration file.
        assignments: `key.sub=value` strings that override the file.

    Raises:
        ConfigurationError: The configuration is wrong, or its network or learner cannot be built.

    Example:

    >>> print(text("configs/sinusoid_default.yaml", ["training.iterations=1000"]))
    """
    config = configuration.load(path, assignments)
    origins = configuration.origins(path, assignments)
    lines = []
    for section, values in config.resolved().items():
        if not isinstance(values, dict):
            lines.append((f"{section}: {_scalar(values)}", origins.get((section,), "default")))
            continue
        lines.append((f"{section}:", None))
        lines += [(f"  {key}: {_scalar(value)}", origins.get((section, key), "default")) for key, value in values.items()]
    width = max(len(line) for line, _ in lines) + 2
    shown = [line if origin is None else f"{line:{width}}# {_short(origin)}" for line, origin in lines]
    return "\n".join([*shown, *(f"# {line}" for line in sizes(config))])


def sizes(config):
    """Lines on what the configuration builds: shapes, parameters, tasks in an iteration."""
    from stochlwta_tf.networks import parameters_of
    from stochlwta_tf.tasks import TASKS

    tasks = TASKS[config.task.name]
    input_shape, outputs = tasks.shapes(config.task.options())
    if input_shape is None or outputs is None:
        yield f"shapes and parameters: unknown without the data of {config.task.name}"
    else:
        learner = build.learner(config, SimpleNamespace(likelihood=tasks.likelihood, input_shape=input_shape, outputs=outputs))
        yield f"input: {list(input_shape)}, outputs: {outputs}"
        yield f"trainable parameters: {parameters_of(learner)['trainable']:,}"
    yield f"tasks in an iteration: {config.training.batch}"


def _scalar(value):
    return yaml_file.dump(value, default_flow_style=True, width=float("inf")).removesuffix("\n").removesuffix("\n...")


def _short(origin):
    return origin if isinstance(origin, str) else os.path.normpath(origin)
