"""The suites of this version."""

import functools

import pytest

from stochlwta_tf import networks
from stochlwta_tf.config import lookup, suites
from stochlwta_tf.errors import ConfigurationError
from tests.helpers.result_folders import cell

SUITES = list(lookup.suites())


@functools.cache
def loaded(name):
    """The cells of a suite that this version has, each with its configuration."""
    return [(each, each.load()) for each in suites.load(name).cells() if each.exists]


@pytest.mark.parametrize("name", SUITES)
def test_stochastic_units_are_tested_with_several_draws_whatever_the_learner(name):
    for each, config in loaded(name):
        stochastic = getattr(config.network, "activation", None) == "stochastic_lwta"
        if stochastic and not each.row.test and config.learner.name != "stochlwta":
            # By default BMAML has one of each of its five particles, and any other learner four of a network that samples.
            draws = config.learner.draws or getattr(config.learner, "particles", 4)
            own = {"bmaml": (5,), "abml": (4, 10), "platipus": (4, 10)}  # ten are their own number, with any units
            assert draws in own.get(config.learner.name, (4,)), f"{each.row.full_label}, {each.column.label}"


def test_table_d1_is_of_the_papers_dense_networks():
    own = cell("tableD1", "StochLWTA-ML", "accuracy").load().network
    for row in suites.load("tableD1").rows:
        if row.paper is None and row.label != "StochLWTA-ML":
            network = cell("tableD1", row.label, "accuracy", row.variant).load().network
            assert (network.name, network.activation, network.weights) == ("dense_lwta", "relu", "point"), row.label
            assert (network.blocks, network.competitors, network.input_scale) == (own.blocks, own.competitors, own.input_scale)


@pytest.mark.parametrize(("variant", "number"), [("the paper's size", 115925), ("the paper's size, point weights", 112005)])
def test_table_d2_has_networks_of_the_papers_size(variant, number):
    config = cell("tableD2", "StochLWTA-ML", "params, 5-way", variant).load()
    network = networks.conv4((28, 28, 1), 5, **config.network.options())
    assert networks.trainable_parameters(network) == number
    nearer = [networks.conv4((28, 28, 1), 5, **{**config.network.options(), "filters": config.network.filters + d}) for d in (-2, 2)]
    assert all(abs(networks.trainable_parameters(other) - 112005) > abs(number - 112005) for other in nearer)


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_of_this_version_is_valid(name):
    for each, config in loaded(name):
        assert each.row.name is None or config.name == each.row.name.format(task=each.task)


def test_a_row_is_compared_with_one_of_the_suite(tmp_path):
    text = lookup.suites()["table5_equal_time"].read_text()
    (tmp_path / "mine.yaml").write_text(text.replace('compared_with: "ReLU (point', 'compared_with: "Relu (point'))
    with pytest.raises(ConfigurationError, match='Did you mean "ReLU .point estimates. .four'):
        suites.load(tmp_path / "mine.yaml")
    for each in suites.load("table2_equal_time").cells():
        assert each.compared is None or (each.compared.column, each.compared.row.label) == (each.column, each.row.label)


def test_a_further_test_may_be_of_another_task():
    given = cell("at_length", "FOMAML", "omniglot_20w1s", "the same model, five examples of each class")
    assert given.test_assignments == ["task.shot=5"] and given.load().task.shot == 1
    for wrong, message in (("task.shott", "task.shott"), ("shot", "unknown option shot")):
        with pytest.raises(ConfigurationError, match=message):
            given.tested({wrong: 5}).load()


def test_rows_are_chosen_by_label_with_or_without_their_variant():
    equal = suites.load("table1_equal_time")
    assert [row.full_label for row in equal.part(rows=["FOMAML"]).rows] == ["FOMAML"]
    assert len(equal.part(rows=["StochLWTA-ML"]).rows) == 4
    assert [row.variant for row in equal.part(rows=["StochLWTA-ML (the paper's network and rates)"]).rows] == [
        "the paper's network and rates"
    ]
    with pytest.raises(ConfigurationError, match="Did you mean 'FOMAML'"):
        equal.part(rows=["FOMAM"])
    assert equal.row_labels.count("StochLWTA-ML") == 1  # four rows have it
