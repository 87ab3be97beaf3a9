"""Rows of a suite that stand for one of each method."""

import pytest

from stochlwta_tf.config import suites
from stochlwta_tf.errors import ConfigurationError

SUITE = """
title: Methods
columns: [omniglot_20w1s]
rows:
  - methods: {methods}
    variant: stochastic
    config: "{{task}}_{{method}}"
    name: "{{task}}_{{method}}_stochastic"
    set: {{network.activation: stochastic_lwta}}
    paper: ["{{label}}", stochastic]
"""


def load(tmp_path, methods):
    path = tmp_path / "suite.yaml"
    path.write_text(SUITE.format(methods=methods))
    return suites.load(path)


def test_a_row_for_all_methods_is_a_row_of_each(tmp_path):
    rows = load(tmp_path, "all").rows
    assert [row.label for row in rows] == ["ABML", "BMAML", "PLATIPUS", "MAML", "FOMAML", "Reptile"]
    cells = load(tmp_path, "[Reptile, MAML]").cells()
    assert [cell.config for cell in cells] == ["configs/omniglot_20w1s_reptile.yaml", "configs/omniglot_20w1s_maml.yaml"]
    assert cells[0].row.paper == ("Reptile", "stochastic") and cells[0].exists
    assert cells[0].assignments == ["name=omniglot_20w1s_reptile_stochastic", "network.activation=stochastic_lwta"]


def test_an_unknown_method_is_named(tmp_path):
    with pytest.raises(ConfigurationError, match=r"unknown value methods='Reptil'. Did you mean 'Reptile'\? Allowed: all, ABML"):
        load(tmp_path, "[Reptil]")
