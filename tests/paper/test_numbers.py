"""Which of the paper's numbers stand beside a result."""

import pytest

from stochlwta_tf.config import configuration
from stochlwta_tf.paper.numbers import METHODS, reported, results


def number(config, measure, *assignments):
    values = configuration.load(f"configs/{config}.yaml", ["training.iterations=60000", *assignments]).resolved()
    found = reported(measure, values)
    return found and found.value


@pytest.mark.parametrize(
    ("config", "measure", "value"),
    [
        ("sinusoid_default", "mse", 0.88),
        ("sinusoid_challenging", "mse", 1.98),
        ("sinusoid_default_maml", "mse", 1.05),
        ("omniglot_20w1s", "accuracy", 97.79),
        ("omniglot_20w5s", "accuracy", 98.97),
        ("omniglot_20w1s_reptile", "accuracy", 87.98),
    ],
)
def test_reported_numbers(config, measure, value):
    assert number(config, measure) == value


@pytest.mark.parametrize(
    ("config", "measure", "assignments"),
    [
        ("omniglot_5w1s", "accuracy", []),  # not in the paper
        ("sinusoid_default", "nll", []),
        ("omniglot_20w1s", "accuracy", ["network.competitors=4"]),  # another table's
        ("glyphs_5w1s", "accuracy", []),
        ("sinusoid_default_tuned", "mse", []),  # other blocks
        ("sinusoid_default", "mse", ["training.iterations=20000"]),
        ("sinusoid_default", "mse", ["task.shot=5"]),
        ("sinusoid_default_maml", "mse", ["network.units=[8]"]),
        ("omniglot_20w1s", "accuracy", ["task.protocol=original_code"]),  # another scoring
        ("omniglot_20w1s_maml", "accuracy", ["training.iterations=8000"]),
        ("omniglot_20w1s_maml", "accuracy", ["network.filters=43"]),  # table D1's
        ("omniglot_20w1s_maml", "accuracy", ["network.activation=deterministic_lwta"]),
    ],
)
def test_no_number_is_shown_for_what_the_paper_did_not_do(config, measure, assignments):
    assert number(config, measure, *assignments) is None


def test_every_method_of_table_1_has_its_columns():
    table = results()["table1"]
    assert set(METHODS.values()) == set(table["local"])
    assert all(len(row) == len(table["columns"]) for row in table["local"].values())
