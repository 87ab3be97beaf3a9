"""The page of one run, from its files."""

import json

import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.report import result_row, run_page
from tests.helpers import REPOSITORY, result_folders
from tests.helpers.html_pages import Page
from tests.helpers.result_folders import GAUSSIAN, cell

_METRICS = "iteration,seconds,learning_rate,loss,support_accuracy,val_accuracy\n100,1.5,0.25,3.0,0.5,\n200,3725.0,0.2,2.0,0.75,0.625\n"


@pytest.fixture
def run(tmp_path):
    training = {"seconds": 316.6, "core_seconds": 179.1}
    folder = result_folders.write(tmp_path, cell("table5", GAUSSIAN, "omniglot_20w1s"), 90.0, training=training)
    (folder / "metrics.csv").write_text(_METRICS)
    (folder / "environment.json").write_text(json.dumps([{"python": "3.10.1"}, {"python": "3.11.7", "packages": {"keras": "3.12"}}]))
    (folder / "data.json").write_text(json.dumps({"train": {"classes": ["a", "b"], "images": 1234}}))
    return folder


def test_a_page_has_the_result_how_it_was_obtained_and_the_configuration(run):
    text, problems = run_page.text(run)
    page = Page(text)
    page.check_alone()
    assert not problems
    assert "StochLWTA-ML, Omniglot 20-way 1-shot" in page.text
    assert "accuracy 90.00 ± 0.50 %" in page.text and "97.79 (table 1), difference −7.79" in page.text
    assert "train.py --config configs/omniglot_20w1s.yaml --set seed=0" in page.text
    assert "5 min 17 s, 2 min 59 s of processor time" in page.text and "600, of seed 0" in page.text and "a processor" in page.text
    assert "keras 3.12" in page.text and page.text.index("3.11.7") < page.text.index("3.10.1")  # the last start first
    assert "1,234" in page.text
    assert [attrs["aria-label"] for tag, attrs in page.tags if tag == "svg"][:2] == [
        "accuracy, % by meta-iteration",
        "loss by meta-iteration",
    ]


def test_what_differs_from_the_defaults_comes_first(run):
    changed, defaults = run_page.settings(configuration.load(run / "config.yaml"))
    assert any(row[:2] == ("way", "20") for row in changed["task"])
    assert ("max_to_keep", "2", "2") in defaults["training"]
    resolved = configuration.load(run / "config.yaml").resolved()
    keys = {(section, key) for part in (changed, defaults) for section, rows in part.items() for key, _, _ in rows}
    expected = {(s, key) for s, values in resolved.items() if isinstance(values, dict) for key in values}
    assert keys == expected | {("run", "name"), ("run", "seed")}
    text, _ = run_page.text(run)
    assert text.index("task.way") < text.index("training.max_to_keep")


def test_a_kept_regression_run_has_its_inner_steps(tmp_path):
    page = Page(run_page.text(REPOSITORY / "results" / "runs" / "sinusoid_default-seed0")[0])
    page.check_alone()
    evaluation = json.loads((REPOSITORY / "results" / "runs" / "sinusoid_default-seed0" / "evaluation.json").read_text(encoding="utf-8"))
    for measures in evaluation["after_steps"].values():
        assert f"{measures['mse']['value']:.3f} ± {measures['mse']['ci95']:.3f}" in page.text


def test_further_tests_and_pictures_of_the_folder_are_there(run):
    evaluation = json.loads((run / "evaluation.json").read_text())
    evaluation["measures"]["accuracy"]["value"] = 55.5
    (run / "evaluation-draws10.json").write_text(json.dumps(evaluation))
    bins = {"edges": [0.0, 0.5, 1.0], "count": [4, 6], "confidence": [0.4, 0.8], "accuracy": [0.5, 0.7], "ece": 10.0}
    (run / "reliability.json").write_text(json.dumps({"tasks": 10, "protocol": "standard", **bins}))
    (run / "audit.png").write_bytes(b"\x89PNG")
    page = Page(run_page.text(run)[0])
    page.check_alone()
    assert "evaluation-draws10.json" in page.text and "55.50 ± 0.50" in page.text
    assert "expected calibration error 10.00 %" in page.text
    assert ("img", {"src": "data:image/png;base64,iVBORw==", "alt": "Audit"}) in page.tags


def test_a_run_that_is_not_tested_says_so(run):
    (run / "evaluation.json").unlink()
    text, problems = run_page.text(run)
    assert "not tested yet" in Page(text).text and "200 of 60,000 meta-iterations" in Page(text).text and not problems
    assert "1 h 2 min" in Page(text).text  # of metrics.csv


@pytest.mark.badinput
@pytest.mark.parametrize("content", ["", '{"train": 1}', "[1]", "[" * 100_000])
@pytest.mark.parametrize("name", ["evaluation.json", "environment.json", "data.json", "reliability.json", "winners.json"])
def test_damaged_files_are_named_and_left_out(run, name, content):
    (run / name).write_text(content)
    text, problems = run_page.text(run)
    Page(text).check_alone()
    assert len(problems) == 1 and name in problems[0]


@pytest.mark.badinput
def test_what_is_no_run_is_one_line(tmp_path, capsys):
    assert evaluate.main(["--run", str(tmp_path), "--html"]) == 2
    assert capsys.readouterr().err == f"error: {tmp_path} is not a run: it has no config.yaml.\n"
    assert evaluate.main(["--html"]) == 2
    assert "--html needs --run DIR" in capsys.readouterr().err


def test_the_command_line_writes_one_file(run, tmp_path, capsys):
    assert evaluate.main(["--run", str(run), "--html"]) == 0
    assert f"The report is {run / 'report.html'}." in capsys.readouterr().out
    first = (run / "report.html").read_bytes()
    out = tmp_path / "new" / "page.html"
    assert evaluate.main(["--run", str(run), "--html", "--out", str(out)]) == 0
    assert out.read_bytes() == first and [path.name for path in out.parent.iterdir()] == ["page.html"]
    assert evaluate.main(["--run", str(run), "--html", "--out", "page.json"]) == 2
    assert "must end in .html" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("seconds", "words"), [(0.4, "0 s"), (59.6, "1 min 0 s"), (61, "1 min 1 s"), (3599.9, "1 h 0 min"), (7265, "2 h 1 min")]
)
def test_a_time_in_words(seconds, words):
    assert result_row.duration(seconds) == words
