"""Tables from results: the right number in the right cell, beside the paper's."""

import pytest

from stochlwta_tf.report import render
from tests.helpers import result_folders
from tests.helpers.result_folders import GAUSSIAN, cell, entry


def test_a_cell_has_ours_the_papers_and_the_difference(runs):
    found = entry(result_folders.table(runs, "table5"), GAUSSIAN, "omniglot_20w1s")
    assert found.ours == pytest.approx(92.0)
    assert (found.paper, found.difference) == (97.79, pytest.approx(92.0 - 97.79))
    assert found.high - 92.0 == pytest.approx(4.302653 * (7 / 3) ** 0.5)  # t of 2 degrees of freedom: the tasks' ± 0.5 is little beside it
    assert found.high - 92.0 == pytest.approx(92.0 - found.low)
    assert found.seed_std == pytest.approx(7**0.5)  # of 90, 91, 95
    assert (found.seeds, found.iterations, found.tasks) == ((0, 1, 2), 60000, 600)
    assert found.made_by == "train.py --config configs/omniglot_20w1s.yaml --set seed=0"
    assert entry(result_folders.table(runs, "table5"), "ReLU (Gaussians)", "omniglot_20w5s").seed_std is None


def test_a_measure_after_a_number_of_inner_steps(tmp_path):
    after = {"10": {"mse": {"value": 0.1, "ci95": 0.02, "unit": ""}}}
    result_folders.write(tmp_path, cell("regression", "MAML", "default, own"), 0.3, after_steps=after)
    table = result_folders.table(tmp_path, "regression")
    assert (entry(table, "MAML", "default, own").ours, entry(table, "MAML", "default, 10").ours) == (0.3, 0.1)
    untested = entry(table, "MAML", "default, 5")
    assert untested.ours is None and untested.lacking == ("sinusoid_default_maml-seed0",)
    assert "or did not measure it:\n\n- MAML, default, 0: sinusoid_default_maml-seed0\n" in render.markdown(table)
