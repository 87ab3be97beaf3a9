"""Which result fills which cell."""

import json

import pytest

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.report import collect, match, render
from tests.helpers import result_folders
from tests.helpers.result_folders import GAUSSIAN, cell, entry


def test_protocols_and_batch_statistics_are_kept_apart(tmp_path):
    dense, conv = (
        cell("table1", "StochLWTA-ML", "omniglot_20w1s", "the paper's network and rates"),
        cell("table1", "MAML", "omniglot_20w1s"),
    )
    result_folders.write(tmp_path, dense, 50.0, folder="a")
    result_folders.write(tmp_path, dense, 60.0, protocol="paper", folder="b")
    result_folders.write(tmp_path, dense, 70.0, protocol="standard", trained="paper", folder="b")
    result_folders.write(tmp_path, conv, 80.0, statistics="transductive", folder="c")
    result_folders.write(tmp_path, conv, 30.0, statistics="support", folder="d")
    table = result_folders.table(tmp_path, "table1")
    found = {}
    for number, (group, _) in enumerate(table.groups):
        values = entry(table, "StochLWTA-ML", "omniglot_20w1s", number).ours, entry(table, "MAML", "omniglot_20w1s", number).ours
        found[tuple(group)] = values
    assert found == {
        ("standard", "standard", "transductive"): (50.0, 80.0),
        ("standard", "standard", "support"): (50.0, 30.0),
        ("paper", "paper", None): (60.0, None),
        ("standard", "paper", None): (70.0, None),
    }
    text = render.markdown(table)
    assert "## Protocol standard (trained under paper), no batch normalisation" in text
    assert f"--set task.protocol=paper --out {tmp_path}/omniglot_20w1s_maml-seed0-paper`" in text


def test_a_run_with_other_options_is_named_and_fills_no_cell(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    other = own._replace(row=own.row.model_copy(update={"set": {"learner.inner_lr": 0.1}}))
    result_folders.write(tmp_path, other, 99.0)
    table = result_folders.table(tmp_path, "table5")
    assert entry(table, GAUSSIAN, "omniglot_20w1s").ours is None
    assert table.notes == (
        "omniglot_20w1s-seed0: not omniglot_20w1s as configs/omniglot_20w1s.yaml has it: learner.inner_lr=0.003. "
        "Received: learner.inner_lr=0.1.",
    )


def test_a_run_that_was_tested_otherwise_is_named_and_fills_no_cell(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    evaluation = {**own.load().resolved()["evaluation"], "draws": 16}
    result_folders.write(tmp_path, own, 99.0, evaluation=evaluation, draws=16)
    table = result_folders.table(tmp_path, "table5")
    assert entry(table, GAUSSIAN, "omniglot_20w1s").ours is None
    assert table.notes == (
        "omniglot_20w1s-seed0: not omniglot_20w1s as configs/omniglot_20w1s.yaml has it: evaluation.draws=4. "
        "Received: evaluation.draws=16.",
    )


def test_the_longest_runs_count(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    result_folders.write(tmp_path, own, 40.0, iterations=100, folder="short")
    result_folders.write(tmp_path, own, 60.0, iterations=300, folder="long")
    result_folders.write(tmp_path, own, 99.0, iterations=300, folder="same")
    table = result_folders.table(tmp_path, "table5")
    assert (entry(table, GAUSSIAN, "omniglot_20w1s").ours, entry(table, GAUSSIAN, "omniglot_20w1s").iterations) == (60.0, 300)
    assert table.notes == (
        "same/evaluation.json: not used, long/evaluation.json is the same experiment with the same seed.",
        "short/evaluation.json: not used, there are longer runs of it (300 iterations).",
    )


def test_the_test_with_most_tasks_counts_and_one_on_other_tasks_does_not(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    folder = result_folders.write(tmp_path, own, 60.0)
    quick, whole = (json.loads((folder / "evaluation.json").read_text()) for _ in range(2))
    quick["measures"]["accuracy"]["value"], quick["tasks"] = 11.0, 20
    (folder / "evaluation-a.json").write_text(json.dumps(quick))
    whole["measures"]["accuracy"]["value"], whole["evaluation"]["seed"], whole["tasks"] = 12.0, 7, 6000
    (folder / "evaluation-b.json").write_text(json.dumps(whole))
    table = result_folders.table(tmp_path, "table5")
    assert (entry(table, GAUSSIAN, "omniglot_20w1s").ours, entry(table, GAUSSIAN, "omniglot_20w1s").tasks) == (60.0, 600)
    assert table.notes == (
        "omniglot_20w1s-seed0/evaluation-a.json: not used, omniglot_20w1s-seed0/evaluation.json is the same experiment with the same seed.",
    )


def test_one_training_tested_with_other_draws_fills_other_cells(tmp_path):
    for b, value in ((4, 50.0), (1, 40.0)):
        result_folders.write(tmp_path, cell("figure3c", str(b), "omniglot_20w1s"), value)
    table = result_folders.table(tmp_path, "figure3c")
    assert [entry(table, str(b), "omniglot_20w1s").ours for b in (1, 2, 4)] == [40.0, None, 50.0]
    assert entry(table, "2", "omniglot_20w1s").fill_by.endswith(
        f"&& python evaluate.py --run {tmp_path}/omniglot_20w1s-seed0 --set evaluation.draws=2 "
        f"--out {tmp_path}/omniglot_20w1s-seed0/evaluation-draws2.json"
    )


def test_two_results_on_the_same_tasks_are_compared_in_pairs(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    result_folders.write(tmp_path, own, 2.0, folder="a", per_task={"accuracy": [1.0, 2.0, None, 4.0]}, tasks=4)
    result_folders.write(tmp_path, own, 1.0, folder="b", per_task={"accuracy": [0.0, 1.0, 9.0, 3.0]}, tasks=4)
    result_folders.write(tmp_path, own, 1.0, folder="c", tasks=4)
    result_folders.write(tmp_path, own, 1.0, folder="d", per_task={"accuracy": [1.0, 2.0]}, tasks=2)
    a, b, c, d = collect.read(tmp_path).results
    assert match.paired(a, b, "accuracy") == (1.0, 0.0)
    for other, message in ((c, "per_task must have accuracy. Received: nothing."), (d, "needs two tests on the same tasks.")):
        with pytest.raises(ConfigurationError, match=message):
            match.paired(a, other, "accuracy")
