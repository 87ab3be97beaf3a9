"""Where a configuration's data is: relative to the file that names it, absolute in a run, and no part of what a result is of."""

import yaml

from stochlwta_tf.config import configuration, identity

OWN = {
    "name": "own",
    "task": {"name": "image_folder", "data_dir": "birds", "split_file": "birds/s.yaml"},
    "network": {"name": "mlp"},
    "learner": {"name": "maml"},
    "optimizer": {"name": "sgd", "learning_rate": 1},
    "training": {"iterations": 100, "batch": 1},
}


def places_of(path, *assignments):
    task = configuration.load(path, assignments).task
    return task.data_dir, task.split_file


def write(path, values):
    path.parent.mkdir(exist_ok=True)
    path.write_text(yaml.safe_dump(values), encoding="utf-8")
    return path


def test_paths_are_relative_to_the_file_that_names_them(tmp_path, monkeypatch):
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    base = write(tmp_path / "there" / "own.yaml", OWN)
    child = write(tmp_path / "mine" / "child.yaml", {"extends": "../there/own.yaml", "task": {"split_file": "mine.csv"}})
    assert places_of(base) == (str(tmp_path / "there/birds"), str(tmp_path / "there/birds/s.yaml"))
    assert places_of(child) == (str(tmp_path / "there/birds"), str(tmp_path / "mine/mine.csv"))
    assert places_of("../mine/child.yaml", "task.data_dir=owls") == (str(tmp_path / "here/owls"), str(tmp_path / "mine/mine.csv"))
    assert places_of(base, "task.data_dir=~/owls", "task.split_file=/s.yaml") == ("~/owls", "/s.yaml")


def test_paths_of_earlier_files_are_found_in_the_working_folder(tmp_path, monkeypatch):
    base = write(tmp_path / "runs" / "config.yaml", OWN)
    (tmp_path / "birds").mkdir()
    monkeypatch.chdir(tmp_path)
    assert places_of(base)[0] == str(tmp_path / "birds")
    (tmp_path / "runs" / "birds").mkdir()  # what is beside the file is nearer
    assert places_of(base)[0] == str(tmp_path / "runs" / "birds")


def test_a_run_is_the_same_wherever_its_data_is(tmp_path):
    a, b = (configuration.load(write(tmp_path / name / "own.yaml", OWN)) for name in "ab")
    assert a.resolved() != b.resolved() and str(tmp_path / "a" / "birds") in a.to_yaml()
    for settings in (identity.run, identity.test, identity.timed):
        assert settings(a) == settings(b) and str(tmp_path) not in str(settings(a))
    other = configuration.load(tmp_path / "a" / "own.yaml", ["task.split_file=other.yaml"])
    assert identity.run(a) != identity.run(other)
