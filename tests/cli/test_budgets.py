"""A budget of time or iterations."""

import pytest

from stochlwta_tf.cli import budgets
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError
from tests.helpers.tiny_suite import BASE


@pytest.mark.parametrize(
    ("text", "settings"),
    [
        ("500it", {"iterations": 500}),
        ("550it", {"iterations": 550, "log_every": 50}),
        ("70it", {"iterations": 50, "log_every": 50}),
        ("10it", {"iterations": 50, "log_every": 50}),
    ],
)
def test_a_budget_of_iterations_fits_the_configuration(text, settings):
    config = configuration.from_dict(BASE)
    assignments = budgets.assignments(config, budgets.Budget.parse(text).iterations_at(None))
    assert assignments == [f"training.{key}={value}" for key, value in settings.items()]
    configuration.from_dict({**BASE, "training": {**BASE["training"], **settings}})


def test_slow_iterations_use_the_budget_too():
    values = {**BASE, "training": {**BASE["training"], "steps_per_execution": 1, "log_every": 10}}
    for iterations, log_every in ((19, 1), (66, 6), (7, 1)):
        expected = [f"training.iterations={iterations}", f"training.log_every={log_every}"]
        assert budgets.assignments(configuration.from_dict(values), iterations)[:2] == expected


def test_a_short_run_validates_halfway_and_at_its_end():
    values = {**BASE, "training": {**BASE["training"], "iterations": 60000, "validate_every": 1000}, "evaluation": {"batch": 50}}
    for iterations, every in ((1400, 700), (900, 500), (300, 200)):
        expected = [f"training.iterations={iterations}", f"training.validate_every={every}"]
        assert budgets.assignments(configuration.from_dict(values), iterations) == expected
    for iterations in (3000, 30000):
        assert budgets.assignments(configuration.from_dict(values), iterations) == [f"training.iterations={iterations}"]


@pytest.mark.parametrize("text", ["10", "m", "0m", "1.5it", "-3m", "10 minutes"])
def test_a_wrong_budget_is_one_line(text):
    with pytest.raises(ConfigurationError, match="--budget must be minutes, hours or iterations, such as 10m, 0.5h or 500it. Received: "):
        budgets.Budget.parse(text)
