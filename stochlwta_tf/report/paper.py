"""The paper's printed numbers (`paper.yaml`), and which of them a configuration is to be compared with."""

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
# What a number of the paper is of, beside task and method.
_OWN = {"name": "dense_lwta", "activation": "stochastic_lwta", "weights": "gaussian", "blocks": [16, 8], "competitors": 2}
_CONV4 = {"name": "conv4", "activation": "relu", "weights": "point"}  # with 32 filters, or 64; fewer are of table D1
_SINUSOID = {"points": 10}
_ITERATIONS = 60_000  # at least: of MAML, FOMAML, Reptile and StochLWTA-ML (table 3), and at the end of figure 4
_UNITS = ([64, 64], [40, 40])  # the other methods' in regression: the paper's text, MAML's paper; which one figure 4 is of is not said


class Reported(NamedTuple):
    """A number of the paper, accuracy in percent, and where it stands there."""

    value: float
    where: str


@functools.cache
def results():
    """All of the paper's numbers, as `paper.yaml` has them."""
    return yaml.safe_load(resources.files(__package__).joinpath("paper.yaml").read_text(encoding="utf-8"))


def reported(measure, values):
    """The paper's number for a run, or None where it has none.

    It has none for another network, number of points or training of fewer meta-iterations than its own, nor under protocol
    `original_code`, whose scoring is another.

    Args:
        measure: `"accuracy"` or `"mse"`.
        values: A resolved configuration, a dictionary.

    Example:

        reported("accuracy", configuration.load("configs/omniglot_20w1s_maml.yaml", ["training.iterations=60000"]).resolved())  # 95.48
    """
    task, network, method = values["task"], values["network"], METHODS.get(values["learner"]["name"])
    if values["training"]["iterations"] < _ITERATIONS or task.get("protocol") == "original_code":
        return None
    if method == "StochLWTA-ML" and not _has(network, _OWN):
        return None
    if measure == "mse" and task["name"] == "sinusoid" and _has(task, _SINUSOID):
        figure = {"default": "4a", "challenging": "4b"}[task["setting"]]
        value = results()[f"figure{figure}_mse_{task['setting']}_at_60000"].get(method)
        own = method == "StochLWTA-ML" or network["name"] == "mlp" and network["weights"] == "point" and network["units"] in _UNITS
        return Reported(value, f"figure {figure}") if value and own else None
    table = results()["table1"]
    column = f"{task['name']}_{task.get('way')}w{task.get('shot')}s"
    if method != "StochLWTA-ML" and not (_has(network, _CONV4) and network["filters"] in (32, 64)):
        return None
    if measure == "accuracy" and column in table["columns"] and method in table["local"]:
        return Reported(table["local"][method][table["columns"].index(column)][0], "table 1")
    return None


def _has(section, values):
    return all(section.get(key) == value for key, value in values.items())
