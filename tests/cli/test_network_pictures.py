"""Pictures of a trained network from the command line."""

import json
import shutil

import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.training.run_folder import RunFolder
from tests.helpers.html_pages import Page
from tests.helpers.tiny_runs import VALUES
from tests.helpers.untrained_runs import untrained


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained(VALUES, tmp_path_factory.mktemp("runs") / "tiny")


@pytest.mark.slow  # a run's page, below, has both pictures
@pytest.mark.parametrize(("what", "form"), [("winners", "png"), ("reliability", "svg")])
def test_the_command_line_makes_a_picture_and_its_numbers(run, tmp_path, what, form, capsys):
    out = tmp_path / f"picture.{form}"
    assert evaluate.main(["--run", str(run.path), f"--{what}", "--out", str(out)]) == 0
    assert f"The picture is {out}." in capsys.readouterr().out
    first, result = out.read_bytes(), json.loads(out.with_suffix(".json").read_text())
    assert first.startswith(b"\x89PNG" if form == "png" else b"<?xml")
    assert (result["tasks"], result["protocol"]) == (4, "standard")
    if form == "svg":  # whose dates and identifiers would differ
        assert evaluate.main(["--run", str(run.path), f"--{what}", "--out", str(out)]) == 0
        assert out.read_bytes() == first


def test_a_picture_is_of_the_network_that_was_trained(run, tmp_path, capsys):
    status = evaluate.main(["--run", str(run.path), "--winners", "--set", "network.blocks=[2]", "--out", str(tmp_path / "a.png")])
    assert status == 2
    assert (
        "--set can change the sections evaluation, active_learning, task, runtime (as in task.shot=5) of a trained run"
        in capsys.readouterr().err
    )


def test_a_runs_page_has_the_pictures_that_its_model_gives(run, tmp_path, capsys):
    out = tmp_path / "report.html"
    assert evaluate.main(["--run", str(run.path), "--html", "--tasks", "2", "--out", str(out)]) == 0
    page = Page(out.read_text(encoding="utf-8"))
    page.check_alone()
    assert "2 test tasks protocol standard, expected calibration error" in page.text
    assert "winners on 2 test tasks, 5 draws" in page.text
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    assert f"The report is {out}." in capsys.readouterr().out


def test_a_page_without_the_data_says_what_is_not_drawn(run, tmp_path):
    folder = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    folder.model.write_bytes(b"no model")
    assert evaluate.main(["--run", str(folder.path), "--html"]) == 0
    assert f"Not drawn {folder.model}" in Page((folder.path / "report.html").read_text(encoding="utf-8")).text
