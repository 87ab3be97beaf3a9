"""Which folders count as results, and what is said of the others."""

import json

import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.errors import UserError
from stochlwta_tf.report import collect
from tests.helpers import result_folders
from tests.helpers.result_folders import cell

OWN = cell("table5", "stochastic LWTA (Gaussians)", "omniglot_20w1s")


def rewrite(path, **changes):
    path.write_text(json.dumps({**json.loads(path.read_text()), **changes}))


def test_results_are_found_however_deep_and_in_order(tmp_path):
    for seed, folder in ((1, "b/deeper/one"), (0, "a/two")):
        result_folders.write(tmp_path, OWN, 50.0, seed=seed, folder=folder)
    collected = collect.read(tmp_path)
    assert [result.folder for result in collected.results] == ["a/two", "b/deeper/one"]
    assert collected.results[0].evaluation.measures["accuracy"].value == 50.0
    assert not collected.problems


def test_what_cannot_be_used_is_named_and_left_out(tmp_path):
    good = result_folders.write(tmp_path, OWN, 50.0, folder="good")
    names = ("cut", "nan", "other", "strange", "no-config", "going-on", "old")
    bad = {name: result_folders.write(tmp_path, OWN, 50.0, folder=name) for name in names}
    text = (bad["cut"] / "evaluation.json").read_text()
    (bad["cut"] / "evaluation.json").write_text(text[: len(text) // 2])
    rewrite(bad["nan"] / "evaluation.json", measures={"accuracy": {"value": float("nan"), "ci95": 1.0, "unit": "%"}})
    rewrite(bad["other"] / "evaluation.json", seed=3)
    rewrite(bad["strange"] / "evaluation.json", protocol="mine")
    (bad["no-config"] / "config.yaml").unlink()
    (bad["going-on"] / "evaluation.json").unlink()
    (bad["old"] / "config.yaml").write_text((bad["old"] / "config.yaml").read_text().replace("competitors", "rivals"))
    for name, text in (("unfilled", "{{name}}: 1\n"), ("listed", "task: {name: [omniglot]}\n")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.yaml").write_text(text)
    (tmp_path / "timing.json").write_text("{}")
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "notes.txt").write_text("not a run")
    collected = collect.read(tmp_path)
    assert [result.path for result in collected.results] == [good]
    said = dict(problem.split(": ", 1) for problem in collected.problems)
    assert said.keys() == {
        *(f"{name}/evaluation.json" for name in ("cut", "nan", "other", "strange")),
        "no-config",
        "going-on",
        "old",
        "unfilled",
        "listed",
        "timing.json",
    }
    assert said["cut/evaluation.json"].startswith("corrupted: not JSON")
    assert said["nan/evaluation.json"].startswith("corrupted: measures.accuracy.value")
    assert said["other/evaluation.json"].startswith("does not match its config.yaml: it is from omniglot_20w1s with seed 3")
    assert said["strange/evaluation.json"].startswith("corrupted: protocol: ")
    assert said["no-config"] == "not a run: evaluation.json without a config.yaml."
    assert said["going-on"] == "incomplete: not tested yet (no evaluation.json)."
    assert said["old"].startswith("invalid: config.yaml: unknown key network.rivals.")


def test_a_stray_file_hides_no_run(tmp_path):
    result_folders.write(tmp_path, OWN, 50.0, folder="runs/good")
    (tmp_path / "evaluation-mine.json").write_text("{}")
    (tmp_path / "runs" / "config.yaml").write_text((tmp_path / "runs" / "good" / "config.yaml").read_text())
    collected = collect.read(tmp_path)
    assert [result.folder for result in collected.results] == ["runs/good"]
    assert [problem.split(":")[0] for problem in collected.problems] == [".", "runs"]


def test_a_result_of_before_an_option_was_added_has_its_default(tmp_path):
    path = result_folders.write(tmp_path, OWN, 50.0) / "evaluation.json"
    task = json.loads(path.read_text())["task"]
    rewrite(path, task={key: value for key, value in task.items() if key not in ("data_dir", "queries")})
    result = collect.read(tmp_path).results[0]
    assert result.tested.task.queries == 15


def test_the_command_line_names_them_on_standard_error(tmp_path, capsys):
    result_folders.write(tmp_path, OWN, 50.0)
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "evaluation.json").write_text("{")
    assert evaluate.main(["--table", "5", "--runs", str(tmp_path)]) == 0
    out, err = capsys.readouterr()
    assert "skipped: broken: not a run: evaluation.json without a config.yaml." in err
    assert "50.00 ± 0.50 / 97.79 / −47.79" in out
    assert "broken" not in out


def test_the_command_of_a_resumed_run_is_that_of_its_first_start(tmp_path):
    result_folders.three_seeds(tmp_path)
    (first, *_) = collect.read(tmp_path).results
    assert first.command == first.evaluation.command
    resumed = first._replace(evaluation=first.evaluation.model_copy(update={"command": "train.py --resume --out runs/a"}))
    assert resumed.command == "train.py --resume --out runs/a"  # nothing else is known
    (first.path / "environment.json").write_text(json.dumps([{"command": "train.py --config a.yaml"}, {"command": "train.py --resume"}]))
    assert resumed.command == "train.py --config a.yaml"
    (first.path / "environment.json").write_text("{}")
    assert resumed.command == "train.py --resume --out runs/a"


def test_no_folder_is_one_line(tmp_path):
    with pytest.raises(UserError, match="--runs must be a folder of runs"):
        collect.read(tmp_path / "none")
