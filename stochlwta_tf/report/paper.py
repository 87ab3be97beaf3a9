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
_PAPERS_OWN = {"name": "dense_lwta", "activation": "stochastic_lwta", "weights": "gaussian", "competitors": 2}
_BASELINES = {"name": "conv4", "activation": "relu", "weights": "point"}  # with 32 filters, or 64; fewer are of table D1


class Reported(NamedTuple):
    """A number of the paper, accuracy in percent, and where it stands there."""

    value: float
    where: str


@functools.cache
def results():
    """All of the paper's numbers, as `paper.yaml` has them."""
    return yaml.safe_load(resources.files(__package__).joinpath("paper.yaml").read_text(encoding="utf-8"))


def reported(measure, task, network, learner):
    """The paper's number for a setting, or None where it has none.

    Args:
        measure: `"accuracy"` or `"mse"`.
        task, network, learner: Sections of a resolved configuration, as dictionaries.

    Example:

        network = {"name": "conv4", "activation": "relu", "weights": "point", "filters": 64}
        reported("accuracy", {"name": "omniglot", "way": 20, "shot": 1}, network, {"name": "maml"})  # (95.48, "table 1")
    """
    method = METHODS.get(learner["name"])
    if method == "StochLWTA-ML" and any(network.get(key) != value for key, value in _PAPERS_OWN.items()):
        return None
    if measure == "mse" and task["name"] == "sinusoid":
        figure = {"default": "4a", "challenging": "4b"}[task["setting"]]
        value = results()[f"figure{figure}_mse_{task['setting']}_at_60000"].get(method)
        return value and Reported(value, f"figure {figure}")
    table = results()["table1"]
    column = f"{task['name']}_{task.get('way')}w{task.get('shot')}s"
    published = all(network.get(key) == value for key, value in _BASELINES.items()) and network["filters"] in (32, 64)
    if method != "StochLWTA-ML" and not published:
        return None
    if measure == "accuracy" and column in table["columns"] and method in table["local"]:
        return Reported(table["local"][method][table["columns"].index(column)][0], "table 1")
    return None
