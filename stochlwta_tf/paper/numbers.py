"""The paper's printed numbers (`numbers.yaml`), and the one that a configuration is compared with."""

import functools
from importlib import resources
from typing import NamedTuple

import yaml

METHODS = {
    "stochlwta": "StochLWTA-ML",
    "reptile": "Reptile",
    "maml": "MAML",
    "fomaml": "FOMAML",
    "abml": "ABML",
    "bmaml": "BMAML",
    "platipus": "PLATIPUS",
}
# What a number of the paper refers to, besides task and method.
_OWN = {"name": "dense_lwta", "activation": "stochastic_lwta", "weights": "gaussian", "blocks": [16, 8], "competitors": 2}
_CONV4 = {"name": "conv4", "activation": "relu", "weights": "point"}  # with 32 or 64 filters; table D1 has fewer
_SINUSOID = {"shot": 10}
_ITERATIONS = 60_000  # at least: of MAML, FOMAML, Reptile and StochLWTA-ML (table 3), and at the end of figure 4
_UNITS = ([64, 64], [40, 40])  # the other methods' in regression: the paper's text, MAML's paper; which one figure 4 shows is not said


class Reported(NamedTuple):
    """A number of the paper, accuracy in percent, and where it is printed."""

    value: float
    where: str


@functools.cache
def results():
    """All of the paper's numbers, as `numbers.yaml` has them."""
    return yaml.safe_load(resources.files(__package__).joinpath("numbers.yaml").read_text(encoding="utf-8"))


def number(keys, column=None):
    """A printed number and its standard deviation over seeds; None for either if the paper does not print it.

    Args:
        keys: The path in `numbers.yaml` to a number, to a pair of mean and standard deviation, or to a row of them.
        column: Name of the row's column.

    Example:

    >>> number(("table1", "local", "ABML"), "omniglot_20w1s")
    (90.21, 0.34)
    """
    node = results()
    for key in keys:
        node = {str(k): v for k, v in node.items()}.get(key) if isinstance(node, dict) else None
    columns = results().get(keys[0], {}) if keys else {}
    columns = columns.get("columns", []) if isinstance(columns, dict) else []
    if isinstance(node, list) and columns:
        node = node[columns.index(column)] if column in columns else None
    if isinstance(node, list):
        return node[0], node[1]
    return (node if isinstance(node, int | float) else None), None


def literature(keys, columns):
    """The rows that the paper quotes from others: `{label: [number or None for each column]}`.

    Args:
        keys: The path to the rows.
        columns: Names of columns.

    Raises:
        KeyError: There are no such rows.
    """
    node = results()
    for key in keys:
        node = node[key]
    return {label: [number((*keys, label), column)[0] for column in columns] for label in node}


def reported(measure, values):
    """The paper's number for a run, or None if there is none.

    There is none for another network or number of points, for a training of fewer meta-iterations than the paper's, and under protocol
    `original_code`, whose scoring differs.

    Args:
        measure: `"accuracy"` or `"mse"`.
        values: A resolved configuration, a dictionary.

    Example:

    >>> config = configuration.load("configs/omniglot_20w1s_maml.yaml", ["training.iterations=60000"])
    >>> reported("accuracy", config.resolved())
    Reported(value=95.48, where='table 1')
    """
    task, network, method = values["task"], values["network"], METHODS.get(values["learner"]["name"])
    if values["training"]["iterations"] < _ITERATIONS or task.get("protocol") == "original_code":
        return None
    if method == "StochLWTA-ML" and not _has(network, _OWN):
        return None
    if measure == "mse" and task["name"] == "sinusoid" and _has(task, _SINUSOID):
        figure = {"default": "4a", "challenging": "4b"}[task["setting"]]
        value, _ = number((f"figure{figure}_mse_{task['setting']}_at_60000", method))
        own = method == "StochLWTA-ML" or network["name"] == "mlp" and network["weights"] == "point" and network["units"] in _UNITS
        return Reported(value, f"figure {figure}") if value and own else None
    column = f"{task['name']}_{task.get('way')}w{task.get('shot')}s"
    if method != "StochLWTA-ML" and not (_has(network, _CONV4) and network["filters"] in (32, 64)):
        return None
    value, _ = number(("table1", "local", method), column) if measure == "accuracy" else (None, None)
    return None if value is None else Reported(value, "table 1")


def _has(section, values):
    return all(section.get(key) == value for key, value in values.items())
