"""Labels for pictures in folders."""

import csv
import shutil

import numpy as np
import pytest
from scipy import special

from stochlwta_tf import networks
from stochlwta_tf.cli import predict
from stochlwta_tf.inference import read_pictures
from stochlwta_tf.learners import FOMAML
from tests.helpers.coloured_pictures import COLOURS, colour_learner, save


@pytest.fixture(scope="module")
def places(tmp_path_factory):
    """A model, a folder of labelled pictures, and a folder of others."""
    root = tmp_path_factory.mktemp("predict")
    colour_learner().save(root / "model.keras")
    return root / "model.keras", save(root / "support", 3), save(root / "query", 2, first=7)


def run(places, *more, support=None):
    model, labelled, others = places
    folders = [labelled[0].parents[1] if support is None else support, others[0].parents[1]]
    return predict.main(["--run", str(model), "--support", str(folders[0]), "--query", str(folders[1]), *more])


def rows(text):
    return list(csv.DictReader(text.splitlines()))


def test_pictures_get_the_labels_of_their_colours(places, capsys):
    assert run(places) == 0
    found = rows(capsys.readouterr().out)
    assert [row["file"] for row in found] == [str(file) for file in places[2]]
    assert [row["label"] for row in found] == [file.parent.name for file in places[2]]
    adapted = colour_learner().adapt_to(read_pictures(colour_learner(), places[1]), [file.parent.name for file in places[1]])
    expected = adapted.predict(read_pictures(colour_learner(), places[2]))
    np.testing.assert_allclose([[float(row[f"p({name})"]) for name in sorted(COLOURS)] for row in found], expected.mean, atol=1e-4)
    np.testing.assert_allclose([float(row["entropy"]) for row in found], expected.entropy, atol=1e-4)
    assert "mutual_information" not in found[0]  # the draws of this learner are the same


def test_fewer_classes_than_in_training(places, tmp_path, capsys):
    save(tmp_path / "few", 2, ["red", "blue"])
    assert run(places, support=tmp_path / "few") == 0
    found = rows(capsys.readouterr().out)
    assert {row["label"] for row in found} == {"red", "blue"}
    np.testing.assert_allclose([float(row["p(red)"]) + float(row["p(blue)"]) for row in found], 1, atol=2e-4)


def test_rows_go_to_a_file(places, tmp_path, capsys):
    assert run(places) == 0
    printed = capsys.readouterr().out
    assert run(places, "--out", str(tmp_path / "labels.csv")) == 0
    assert capsys.readouterr().out == f"Pictures labelled in {tmp_path / 'labels.csv'}: 10.\n"
    assert (tmp_path / "labels.csv").read_text() == printed


def test_a_temperature_divides_the_logits(places, capsys):
    assert run(places, "--temperature", "3") == 0
    found = rows(capsys.readouterr().out)
    adapted = colour_learner().adapt_to(read_pictures(colour_learner(), places[1]), [file.parent.name for file in places[1]])
    logits = adapted.predict(read_pictures(colour_learner(), places[2])).draws[0]
    expected = special.softmax(logits / 3, axis=-1)
    np.testing.assert_allclose([[float(row[f"p({name})"]) for name in sorted(COLOURS)] for row in found], expected, atol=1e-4)
    with pytest.raises(ValueError, match="`temperature` must be a number above 0, and 1 in regression. Received: temperature=0"):
        adapted.predict(np.zeros((1, 8, 8, 3)), temperature=0)


def test_damaged_pictures_and_other_files_are_named(places, tmp_path, capsys):
    save(tmp_path / "support", 2, ["red", "blue"])
    (tmp_path / "support" / "red" / "notes.txt").write_text("no picture")
    (tmp_path / "support" / "red" / "cut.png").write_bytes(places[1][0].read_bytes()[:60])
    save(tmp_path / "query", 1, ["blue"])
    (tmp_path / "query" / "cut.png").write_bytes(places[1][0].read_bytes()[:60])
    (tmp_path / "query" / "film.xyz").touch()
    command = ["--run", str(places[0]), "--support", str(tmp_path / "support"), "--query", str(tmp_path / "query")]
    assert predict.main(command) == 2
    assert "2 of 7 pictures cannot be used; --skip-damaged goes without. Received: " in capsys.readouterr().err
    assert predict.main([*command, "--skip-damaged"]) == 0
    out, err = capsys.readouterr()
    assert [(row["file"], row["label"]) for row in rows(out)] == [(str(tmp_path / "query" / "blue" / "0.png"), "blue")]
    lines = err.splitlines()
    assert [line.split(": ")[0] for line in lines] == [
        f"--query {tmp_path / 'query'}",
        f"--support {tmp_path / 'support'}",
        "skipped",
        "skipped",
    ]
    assert (
        lines[0].endswith(".xyz (1).")
        and lines[1].endswith(".txt (1).")
        and all("cut.png: cannot be decoded" in line for line in lines[2:])
    )


def error(status, capsys):
    assert status == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: ")
    return line


def test_what_is_wrong_is_one_line(places, tmp_path, capsys):
    assert "does not exist" in error(run(places, support=tmp_path / "none"), capsys)
    (tmp_path / "empty").mkdir()
    assert "must hold a folder of pictures for each class" in error(run(places, support=tmp_path / "empty"), capsys)
    assert "--query" in error(
        predict.main(["--run", str(places[0]), "--support", str(tmp_path), "--query", str(tmp_path / "empty")]), capsys
    )
    assert "--draws must be 1 or more. Received: --draws 0." in error(run(places, "--draws", "0"), capsys)
    assert "--seed must be from 0" in error(run(places, "--seed", "-1"), capsys)
    assert "--temperature must be a number above 0. Received: --temperature 0." in error(run(places, "--temperature", "0"), capsys)
    for colour in ("a", "b", "c", "d", "e", "f"):
        (tmp_path / "six" / colour).mkdir(parents=True)
        shutil.copy(places[1][0], tmp_path / "six" / colour)
    (tmp_path / "six" / "a" / "cut.png").touch()  # pictures are not looked at
    assert "six: must have at most 5 classes, as many as in training" in error(run(places, support=tmp_path / "six"), capsys)
    FOMAML(networks.mlp((1,), 1, units=(2,)), likelihood="gaussian").save(tmp_path / "curves.keras")
    assert "predicts targets, not classes" in error(run((tmp_path / "curves.keras", *places[1:])), capsys)
