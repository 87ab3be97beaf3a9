"""Tables from results: the right number in the right cell, beside the paper's."""

import csv
import io

import numpy as np
import pytest
from scipy import stats

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


def test_a_suite_by_name_takes_no_longer_run_of_the_same_configuration(tmp_path):
    equal = cell("table1_equal_time", "MAML", "omniglot_20w1s")
    result_folders.write(tmp_path, equal, 60.0, iterations=300, statistics="transductive", training={"core_seconds": 1200.5})
    result_folders.write(tmp_path, cell("table1", "MAML", "omniglot_20w1s"), 90.0, statistics="transductive")
    for suite, expected in (("table1_equal_time", 60.0), ("table1", 90.0)):
        assert entry(result_folders.table(tmp_path, suite), "MAML", "omniglot_20w1s").ours == expected


def test_what_a_training_took_and_its_validation_are_measures(tmp_path):
    for seed, (seconds, score) in enumerate([(100.0, 70.0), (200.0, 80.0)]):
        made = cell("recipe_omniglot", "FOMAML", "test, %")
        result_folders.write(tmp_path, made, 50.0, seed=seed, training={"core_seconds": seconds, "validation": score}, statistics="support")
    table = result_folders.table(tmp_path, "recipe_omniglot")
    assert entry(table, "FOMAML", "core seconds").ours == 150.0 and entry(table, "FOMAML", "validation, %").ours == 75.0


def test_a_row_is_compared_with_another_on_the_same_tasks(tmp_path):
    rng = np.random.default_rng(0)
    base, effect = rng.normal(50, 20, 600), rng.normal(-3, 2, 600)
    fomaml = cell("table1_equal_time", "FOMAML", "cifar100_5w1s")
    competing = cell("table1_equal_time", "StochLWTA-ML", "cifar100_5w1s", "four convolutions, FOMAML's step")
    for each, values in ((fomaml, base), (competing, base + effect)):
        result_folders.write(tmp_path, each, values.mean(), statistics="transductive", per_task={"accuracy": values.tolist()})
    table = result_folders.table(tmp_path, "table1_equal_time")
    found = entry(table, "StochLWTA-ML", "cifar100_5w1s", variant="four convolutions, FOMAML's step")
    low, high = stats.ttest_1samp(effect, 0).confidence_interval()
    assert (found.paired, found.paired_ci95) == (pytest.approx(effect.mean()), pytest.approx((high - low) / 2))
    assert entry(table, "FOMAML", "cifar100_5w1s").paired is None
    assert f"−{-effect.mean():.2f} ± {(high - low) / 2:.2f} from FOMAML" in render.markdown(table)
    line = next(line for line in csv.DictReader(io.StringIO(render.comma_separated(table))) if line["paired"])
    assert (line["compared_with"], float(line["paired"])) == ("FOMAML", pytest.approx(effect.mean()))


def test_other_tasks_are_no_comparison(tmp_path):
    for label, variant, tasks in (("FOMAML", None, 300), ("StochLWTA-ML", "four convolutions, FOMAML's step", 600)):
        made = cell("table1_equal_time", label, "cifar100_5w1s", variant)
        result_folders.write(tmp_path, made, 50.0, statistics="transductive", tasks=tasks, per_task={"accuracy": [50.0] * tasks})
    table = result_folders.table(tmp_path, "table1_equal_time")
    assert entry(table, "StochLWTA-ML", "cifar100_5w1s", variant="four convolutions, FOMAML's step").paired is None
    assert any("a paired difference needs two tests on the same tasks" in note for note in table.notes)
