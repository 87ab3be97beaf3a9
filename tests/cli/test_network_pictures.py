"""Pictures of a trained network from the command line."""

import json

import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder
from tests.helpers.tiny_runs import VALUES


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config, folder = configuration.from_dict(VALUES), RunFolder(tmp_path_factory.mktemp("runs") / "tiny")
    folder.begin(config)
    build.learner(config, build.tasks(config, "train")).save(folder.model)
    return folder


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
    assert "--set can change evaluation, active_learning, task, runtime of a trained run" in capsys.readouterr().err
