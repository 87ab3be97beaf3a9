"""Which of the paper's numbers stand beside a result."""

import pytest

from stochlwta_tf.report.paper import METHODS, reported, results

OWN = {"name": "dense_lwta", "activation": "stochastic_lwta", "weights": "gaussian", "competitors": 2}
CONV4 = {"name": "conv4", "activation": "relu", "weights": "point", "filters": 64}


@pytest.mark.parametrize(
    ("measure", "task", "network", "learner", "value"),
    [
        ("mse", {"name": "sinusoid", "setting": "default"}, OWN, "stochlwta", 0.88),
        ("mse", {"name": "sinusoid", "setting": "challenging"}, OWN, "stochlwta", 1.98),
        ("accuracy", {"name": "omniglot", "way": 20, "shot": 1}, OWN, "stochlwta", 97.79),
        ("accuracy", {"name": "omniglot", "way": 20, "shot": 5}, OWN, "stochlwta", 98.97),
        ("accuracy", {"name": "omniglot", "way": 20, "shot": 1}, CONV4, "reptile", 87.98),
    ],
)
def test_reported_numbers(measure, task, network, learner, value):
    assert reported(measure, task, network, {"name": learner}).value == value


@pytest.mark.parametrize(
    ("measure", "task", "network"),
    [
        ("accuracy", {"name": "omniglot", "way": 5, "shot": 1}, OWN),  # not in the paper
        ("nll", {"name": "sinusoid", "setting": "default"}, OWN),
        ("accuracy", {"name": "omniglot", "way": 20, "shot": 1}, {**OWN, "competitors": 4}),  # another table's
        ("accuracy", {"name": "glyphs", "way": 5, "shot": 1}, OWN),
    ],
)
def test_no_number_is_shown_for_what_the_paper_did_not_do(measure, task, network):
    assert reported(measure, task, network, {"name": "stochlwta"}) is None


@pytest.mark.parametrize("change", [{"filters": 43}, {"activation": "deterministic_lwta"}, {"name": "mlp"}])
def test_another_network_of_a_baseline_is_not_that_of_table_1(change):
    assert reported("accuracy", {"name": "omniglot", "way": 20, "shot": 1}, {**CONV4, **change}, {"name": "maml"}) is None


def test_every_method_of_table_1_has_its_columns():
    table = results()["table1"]
    assert set(METHODS.values()) == set(table["local"])
    assert all(len(row) == len(table["columns"]) for row in table["local"].values())
