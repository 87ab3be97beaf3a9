"""Suites: which runs they are, and that each is run once, resumed, or skipped."""

import json
import subprocess
import sys

import pytest
import yaml

from stochlwta_tf.cli import budgets, train
from stochlwta_tf.cli import suite_runner as suite
from stochlwta_tf.cli.launchers import OneByOne
from stochlwta_tf.config import configuration, suites
from tests.helpers.tiny_suite import BASE, SUITE, Starts


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """The suite above in a folder of its own, which is the working directory."""
    (tmp_path / "configs" / "suites").mkdir(parents=True)
    (tmp_path / "configs" / "base.yaml").write_text(yaml.safe_dump(BASE))
    (tmp_path / "configs" / "suites" / "tiny.yaml").write_text(yaml.safe_dump(SUITE))
    monkeypatch.chdir(tmp_path)
    return suites.load("tiny")


def test_each_training_of_a_suite_is_made_once(tiny):
    runs, unknown = suite.runs_of(tiny)
    assert [(run.cell.row.label, len(run.tests)) for run in runs] == [("a", 0), ("explodes", 0), ("b", 1)]
    assert unknown == ["configs/base_of_another_version.yaml"]


def test_what_is_missing_is_made_and_one_failure_does_not_stop_the_rest(tiny, tmp_path):
    starts, lines = Starts(fails=["explodes"]), []
    failures = suite.Runner(tmp_path / "runs", launcher=OneByOne(starts), log=lines.append).run(tiny)
    assert [failure.split(": ", 1)[0] for failure in failures] == [str(tmp_path / "runs" / f"explodes-seed{seed}") for seed in (0, 1)]
    assert "exit status 3: not finite at iteration 7 (seed 0): task 0" in failures[0]
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == ["b-seed0", "b-seed1", "base-seed0", "base-seed1"]
    assert (tmp_path / "runs" / "b-seed1" / "evaluation-draws2.json").exists()
    assert lines[0] == "configs/base_of_another_version.yaml: skipped (no configuration)"
    assert [call[0] for call in starts.calls].count("train.py") == 6
    assert configuration.load(tmp_path / "runs" / "b-seed1" / "config.yaml").seed == 1


def test_what_is_finished_is_passed_by_and_what_was_stopped_goes_on(tiny, tmp_path):
    runs = tmp_path / "runs"
    suite.Runner(runs, launcher=OneByOne(Starts(fails=["explodes"])), log=lambda _: None).run(tiny)
    (runs / "b-seed0" / "evaluation.json").unlink()
    (runs / "base-seed1" / "evaluation.json").write_text("{")
    (runs / "b-seed1" / "evaluation-draws2.json").write_text("{")
    starts, lines = Starts(fails=["explodes"]), []
    suite.Runner(runs, launcher=OneByOne(starts), log=lines.append).run(tiny)
    assert [call for call in starts.calls if "--resume" in call] == [
        ["train.py", "--resume", "--out", str(runs / name)] for name in ("base-seed1", "b-seed0")
    ]
    assert [options for program, *options in starts.calls if program == "evaluate.py"] == [
        ["--run", str(runs / "b-seed1"), "--set", "evaluation.draws=2", "--out", str(runs / "b-seed1" / "evaluation-draws2.json")]
    ]
    assert len(starts.calls) == 5  # and the two that fail
    assert "[1/6] base-seed0: already complete, training.iterations=200" in lines


def test_a_suite_of_active_learning_tests_each_run_so(tiny, tmp_path):
    queries = tiny.model_copy(update={"active": {"active_learning.queries": 3}, "rows": tiny.rows[:1], "seeds": (0,)})
    starts, folder = Starts(), tmp_path / "runs" / "base-seed0"
    assert suite.Runner(tmp_path / "runs", launcher=OneByOne(starts), log=print).run(queries) == []
    train_call, test_call = starts.calls
    assert train_call[0] == "train.py"
    options = ["--set", "active_learning.queries=3", "--out", f"{folder}/active-tiny.json"]
    assert test_call == ["evaluate.py", "--run", str(folder), "--active", *options]
    suite.Runner(tmp_path / "runs", launcher=OneByOne(starts), log=print).run(queries)
    assert len(starts.calls) == 2
    fewer = queries.model_copy(update={"active": {"active_learning.queries": 2}})
    suite.Runner(tmp_path / "runs", launcher=OneByOne(starts), log=print).run(fewer)
    assert len(starts.calls) == 3  # another test than the one that is there


def test_what_is_wrong_with_a_further_test_is_said_before_the_training(tiny, tmp_path):
    row = tiny.rows[3].model_copy(update={"test": {"inner_batch": 1}})
    starts = Starts()
    failures = suite.Runner(tmp_path / "runs", launcher=OneByOne(starts), log=print).run(
        tiny.part(seeds=[0]).model_copy(update={"rows": (row,)})
    )
    assert "unknown key evaluation.inner_batch." in failures[0] and not starts.calls


def test_a_folder_with_another_run_is_left_alone(tiny, tmp_path):
    folder = tmp_path / "runs" / "base-seed0"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(configuration.from_dict({**BASE, "network": {"name": "mlp", "units": [5]}}).to_yaml())
    failures = suite.Runner(tmp_path / "runs", launcher=OneByOne(Starts()), log=lambda _: None).run(tiny)
    assert failures == [f"{folder} differs from the suite, which has network.units=[4]. Received: [5]"]


def test_a_run_that_was_tested_otherwise_is_no_finished_one(tiny, tmp_path):
    runs, own = tmp_path / "runs", tiny.part(seeds=[0]).model_copy(update={"rows": tiny.rows[:1]})
    suite.Runner(runs, launcher=OneByOne(Starts()), log=print).run(own)
    path = runs / "base-seed0" / "evaluation.json"
    result = json.loads(path.read_text())
    path.write_text(json.dumps({**result, "evaluation": {**result["evaluation"], "inner_steps": 7}}))
    starts = Starts()
    failures = suite.Runner(runs, launcher=OneByOne(starts), log=print).run(own)
    assert failures == [f"{path} differs from the suite, which has evaluation.inner_steps=1. Received: 7"]
    assert not starts.calls
    path.write_text(json.dumps(result))
    drawn = tiny.part(seeds=[0]).model_copy(update={"rows": tiny.rows[2:4]})
    suite.Runner(runs, launcher=OneByOne(starts), log=print).run(drawn)
    path = runs / "b-seed0" / "evaluation-draws2.json"
    result = json.loads(path.read_text())
    path.write_text(json.dumps({**result, "evaluation": {**result["evaluation"], "seed": 7}}))
    assert suite.Runner(runs, launcher=OneByOne(starts), log=print).run(drawn) == [
        f"{path} differs from the suite, which has evaluation.seed=0. Received: 7"
    ]


def test_a_budget_of_minutes_is_measured_once_and_ends_in_the_configuration(tiny, tmp_path):
    starts = Starts()
    suite.Runner(tmp_path / "runs", budgets.Budget.parse("1m"), OneByOne(starts), lambda _: None).run(tiny)
    assert [call[1] for call in starts.calls if "--rate" in call] == ["stochlwta_tf.cli.timing"] * 3  # not once a seed
    for seed in (0, 1):
        assert configuration.load(tmp_path / "runs" / f"base-seed{seed}" / "config.yaml").training.iterations == 600
    starts.calls.clear()
    suite.Runner(tmp_path / "runs", budgets.Budget.parse("9m"), OneByOne(starts), lambda _: None).run(tiny.part(seeds=[5]))
    assert configuration.load(tmp_path / "runs" / "base-seed5" / "config.yaml").training.iterations == 600  # as long as its other seeds


@pytest.mark.slow
def test_the_command_line(tiny, tmp_path, capfd):
    """Real processes: a run, one that fails, a further test; then nothing is left to do but the one that fails."""
    arguments = ["--suite", "tiny", "--budget", "100it", "--out", "runs"]
    text = yaml.safe_dump({**SUITE, "seeds": [0], "rows": SUITE["rows"][1:4]})
    (tmp_path / "configs" / "suites" / "tiny.yaml").write_text(text)
    assert train.main(arguments) == 2
    out, err = capfd.readouterr()
    assert "error: 1 failed, the other runs are complete: runs/explodes-seed0: exit status 3: not finite at iteration " in err
    assert "[2/2] b-seed0: starting training.iterations=100" in out
    result = json.loads((tmp_path / "runs" / "b-seed0" / "evaluation-draws2.json").read_text())
    assert (result["draws"], result["iterations"]) == (2, 100)
    assert train.main(arguments) == 2
    assert "[2/2] b-seed0: already complete, training.iterations=100" in capfd.readouterr().out


def test_a_suite_that_is_not_there_is_one_line(capfd):
    process = subprocess.run(
        [sys.executable, "-m", "stochlwta_tf.cli.train", "--suite", "tabel5"], capture_output=True, text=True, check=False
    )
    assert process.returncode == 2
    assert "error: unknown suite tabel5. Did you mean 'table5'? Allowed: " in process.stderr


@pytest.mark.parametrize("options", [["--suite", "table5", "--config", "a.yaml"], ["--config", "a.yaml", "--budget", "10m"]])
def test_options_that_do_not_go_together(options):
    with pytest.raises(SystemExit) as stop:
        train.main(options)
    assert stop.value.code == 2


def test_every_run_is_tested_once_more_and_a_network_without_batch_normalisation_is_not_by_other_statistics(tiny, tmp_path):
    twice = tiny.model_copy(update={"also": ({"draws": 3}, {"batch_statistics": "support"}), "rows": tiny.rows[:1], "seeds": (0,)})
    starts, folder = Starts(), tmp_path / "runs" / "base-seed0"
    assert suite.Runner(tmp_path / "runs", launcher=OneByOne(starts), log=print).run(twice) == []
    assert starts.calls[1:] == [
        ["evaluate.py", "--run", str(folder), "--set", "evaluation.draws=3", "--out", f"{folder}/evaluation-draws3.json"]
    ]


def test_a_suite_has_overrides_and_a_budget_of_its_own(tiny, monkeypatch):
    common = tiny.model_copy(update={"set": {"training.meta_batch_size": 7, "network.units": [9]}})
    first, *_, b, _, _ = common.cells()
    assert first.load().training.meta_batch_size == 7 and first.load().network.units == (9,)
    assert b.load().network.units == (3,)  # a row's own come after
    budgets_used = []
    monkeypatch.setattr(
        suite, "Runner", lambda out, budget, launcher: type("R", (), {"run": lambda self, s: budgets_used.append(budget) or []})()
    )
    monkeypatch.setattr(suite.suites, "load", lambda name: tiny.model_copy(update={"budget": "20m"}))
    arguments = {"suite": "tiny", "columns": None, "rows": None, "seeds": None, "out": None, "jobs": None, "launcher": None}
    for budget in (None, "500it"):
        suite.main(type("A", (), {**arguments, "budget": budget}))
    assert [str(b) for b in budgets_used] == [str(budgets.Budget.parse(text)) for text in ("20m", "500it")]
