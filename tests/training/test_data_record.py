"""A run's own record of its classes and images, which resuming and tests go by."""

import json
import shutil

import pytest

from stochlwta_tf.cli import evaluate, train
from stochlwta_tf.errors import UserError
from stochlwta_tf.training import data_record
from stochlwta_tf.training.records import read
from stochlwta_tf.training.run_folder import RunFolder
from tests.helpers.own_pictures import picture


@pytest.fixture
def run(finished, tmp_path, monkeypatch):
    shutil.copytree(finished, tmp_path / "here")
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "here" / "cache"))
    moved("run", finished / "data", tmp_path / "here" / "data")
    return RunFolder("run")


def moved(run, old, new):
    """Tells a run that its data is elsewhere."""
    path = RunFolder(run).config
    assert f"data_dir: {old}\n" in path.read_text()
    path.write_text(path.read_text().replace(f"data_dir: {old}\n", f"data_dir: {new}\n"))


def recorded(run):
    return {split: values["classes"] for split, values in json.loads(run.data.read_text()).items()}


def longer(run, iterations=4):
    run.config.write_text(run.config.read_text().replace("iterations: 2", f"iterations: {iterations}"))


def add_classes():
    """More classes, with which the split by a seed is another one."""
    for c in range(10, 16):
        for number in range(3):
            picture(RunFolder("data").path, f"c{c}", c, number)


def test_the_record_is_of_every_split(run):
    found = recorded(run)
    assert [len(found[split]) for split in ("train", "validation", "test")] == [5, 2, 3]
    assert sorted(sum(found.values(), [])) == [f"c{c}" for c in range(10)]
    record = data_record.read(run.data)
    assert record["train"].images == 15 and len({split.fingerprint for split in record.values()}) == 3


def test_a_class_more_leaves_the_test_as_it_was(run, capsys):
    before = json.loads(run.evaluation.read_text())
    add_classes()
    assert evaluate.main(["--run", "run"]) == 0
    after = json.loads(run.evaluation.read_text())
    assert after["measures"] == before["measures"] and after["classes"] == {"test": 3, "also_trained_on": 0}
    assert "data_notes" not in after
    assert all(line.startswith("Testing (") for line in capsys.readouterr().err.splitlines())
    # Without the record it is another test, of classes that were trained on or not: nobody knows.
    run.data.unlink()
    assert evaluate.main(["--run", "run"]) == 0
    assert json.loads(run.evaluation.read_text())["classes"]["test"] != 3
    assert "run/data.json: missing, because the run is older; its classes are derived" in capsys.readouterr().err


@pytest.mark.slow
def test_a_class_more_leaves_the_training_as_it_was(run):
    whole = ["--config", "own.yaml", "--set", "task.data_dir=data", "training.iterations=4", "--out", "whole"]
    assert train.main(whole) == 0
    add_classes()
    longer(run)
    assert train.main(["--resume", "--out", "run"]) == 0
    losses = [[row["loss"] for row in read(RunFolder(name).metrics)] for name in ("whole", "run")]
    assert losses[0] == losses[1] and len(losses[0]) == 4


def test_a_test_on_what_was_trained_on_goes_by_the_record(run, capsys):
    """Another `split_seed` is the user's own split, and the recorded training classes are still those that were trained on."""
    for seed in range(1, 6):
        assert evaluate.main(["--run", "run", "--set", f"task.split_seed={seed}"]) == 2
        assert "protocol standard tests on classes that were not trained on" in capsys.readouterr().err
    assert evaluate.main(["--run", "run", "--protocol", "original_code", "--set", "task.class_split=[0, 0, 10]"]) == 0
    assert json.loads((run.path / "evaluation-original_code.json").read_text())["classes"] == {"test": 10, "also_trained_on": 5}


def test_a_recorded_class_that_is_gone_stops_with_one_line(run, capsys):
    gone = recorded(run)["test"][1]
    shutil.rmtree(f"data/{gone}")
    longer(run)
    for command in (lambda: evaluate.main(["--run", "run"]), lambda: train.main(["--resume", "--out", "run"])):
        assert command() == 2
        error = capsys.readouterr().err
        assert f"Received: 1 of them are missing, the first '{gone}'.\n" in error and error.count("\n") == 1
        assert "data must hold the 3 test classes that the run recorded" in error


def test_changed_images_stop_a_resume_and_are_noted_in_a_test(run, capsys):
    longer(run)
    (trained, _), (tested, _) = (recorded(run)[split][:2] for split in ("train", "test"))
    picture(RunFolder("data").path, tested, 99, 3)
    assert evaluate.main(["--run", "run"]) == 0
    note = "the test images have changed since training: 10 images instead of 9"
    assert json.loads(run.evaluation.read_text())["data_notes"] == [note] and note in capsys.readouterr().out
    assert train.main(["--resume", "--out", "run"]) == 2
    assert "the test data has changed since the run started" in capsys.readouterr().err
    (RunFolder("data").path / tested / "3.png").unlink()
    picture(RunFolder("data").path, trained, 99, 0)
    rows = run.metrics.read_text()
    assert train.main(["--resume", "--out", "run"]) == 2
    error = capsys.readouterr().err
    assert "the train data has changed since the run started" in error
    assert error.endswith("Received: the same number of images, with different pixels.\n") and error.count("\n") == 1
    assert run.metrics.read_text() == rows


def test_data_that_moved_is_tested_alike(run):
    before = json.loads(run.evaluation.read_text())["measures"]
    shutil.move("data", "moved")
    add_to = RunFolder("moved").path
    for number in range(3):
        picture(add_to, "c99", 99, number)
    assert evaluate.main(["--run", "run", "--set", "task.data_dir=moved"]) == 0
    assert json.loads(run.evaluation.read_text())["measures"] == before


def test_a_run_is_tested_and_resumed_from_any_folder_and_with_moved_data(run, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert evaluate.main(["--run", "here/run"]) == 0
    longer(RunFolder("here/run"))
    shutil.move("here/data", "moved")
    assert train.main(["--resume", "--out", "here/run"]) == 2
    assert f"set task.data_dir. Received: {tmp_path / 'here' / 'data'}.\n" in capsys.readouterr().err
    assert train.main(["--resume", "--out", "here/run", "--set", "task.data_dir=moved"]) == 0


def test_skipped_pictures_are_recorded(run):
    damaged = f"{recorded(run)['train'][0]}/x.png"
    (RunFolder("data").path / damaged).write_bytes(b"cut")
    command = ["--config", "own.yaml", "--set", "task.data_dir=data", "evaluation.after_training=false", "--out", "other"]
    assert train.main(command) == 2
    assert train.main([*command, "--set", "task.skip_damaged=true"]) == 0
    record = data_record.read(RunFolder("other").data)
    assert record["train"].skipped == (f"{damaged} (it is not a picture, 3 bytes)",) and record["test"].skipped == ()
    assert train.main(["--resume", "--out", "other"]) == 0


@pytest.mark.parametrize("content", ["", "[]", '{"train": {}}', '{"train": {"classes": [1], "images": 1, "fingerprint": ""}}'])
def test_a_damaged_record_is_one_line(run, content):
    run.data.write_text(content)
    with pytest.raises(UserError, match="run/data.json: the record of the training data cannot be read; .* Received: ") as error:
        data_record.read(run.data)
    assert "\n" not in str(error.value)


def test_differences_in_words():
    one = data_record.Split(classes=("a", "b"), images=4, fingerprint="x")
    for change, words in (
        ({"classes": ("b", "c")}, "classes removed: 1, the first 'a'; classes added: 1, the first 'c'"),
        ({"classes": ("b", "a")}, "the same classes in a different order"),
        ({"images": 5}, "5 images instead of 4"),
        ({"fingerprint": "y"}, "the same number of images, with different pixels"),
        ({}, None),
    ):
        assert data_record.difference(one, one.model_copy(update=change)) == words


def test_a_picture_in_two_splits_stays_in_every_result(finished, tmp_path, monkeypatch, capfd):
    """The first test has all splits before it, a later one only the recorded classes of the test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    shutil.copytree(finished / "data", "data")
    shutil.copy(finished / "own.yaml", "own.yaml")
    splits = recorded(RunFolder(finished / "run"))
    shutil.copy(f"data/{splits['train'][0]}/0.png", f"data/{splits['test'][0]}/copy.png")
    assert train.main(["--config", "own.yaml", "--set", "task.data_dir=data", "task.duplicates=keep", "--out", "run"]) == 0
    run = RunFolder("run")
    notes = json.loads(run.evaluation.read_text())["data_notes"]
    assert len(notes) == 1 and "of them in another split: 1;" in notes[0], notes
    for again in (lambda: train.main(["--resume", "--out", "run"]), lambda: evaluate.main(["--run", "run"])):
        run.evaluation.unlink()
        assert again() == 0, capfd.readouterr().err
        assert json.loads(run.evaluation.read_text())["data_notes"] == notes
