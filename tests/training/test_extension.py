"""A finished run that goes on: `train.py --extend`."""

import json
import shutil

import keras
import numpy as np
import pytest
import yaml

from stochlwta_tf.cli import train
from stochlwta_tf.config import configuration
from stochlwta_tf.learners import RestartedSchedule
from stochlwta_tf.training import build, extension
from stochlwta_tf.training.records import read
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.train import train as training
from tests.training.test_best import CONFIG

TRAINING = {"iterations": 20, "meta_batch_size": 4, "log_every": 10}
VALUES = {**CONFIG, "training": TRAINING, "optimizer": {"name": "adam", "learning_rate": 0.01, "schedule": "linear"}}


@pytest.fixture(scope="module")
def extended(tmp_path_factory):
    """A run of 20 iterations that was extended by 30, and its weights before."""
    place = tmp_path_factory.mktemp("extended")
    (place / "config.yaml").write_text(yaml.safe_dump(VALUES))
    assert train.main(["--config", str(place / "config.yaml"), "--out", str(place / "run")]) == 0
    folder = RunFolder(place / "run")
    shutil.copytree(folder.path, place / "before")
    before = keras.saving.load_model(folder.model)
    assert train.main(["--extend", "30", "--out", str(folder.path)]) == 0
    return folder, before


def test_the_schedule_runs_anew_and_the_tasks_and_the_optimizer_go_on(extended):
    folder, before = extended
    rows = read(folder.metrics)
    assert [row["iteration"] for row in rows] == ["10", "20", "30", "40", "50"]
    expected = [0.01 * (1 - i / 20) for i in (10, 20)] + [0.01 * (1 - i / 30) for i in (10, 20, 30)]
    np.testing.assert_allclose([float(row["learning_rate"]) for row in rows], expected, atol=1e-8)

    config = configuration.load(folder.config)  # the same by hand, from the first model and its optimizer
    optimizer = build.optimizer(config)
    optimizer.build(before.trainable_variables)
    for ours, earlier in zip(optimizer.variables, before.optimizer.variables, strict=True):
        ours.assign(earlier)
    before.optimizer = optimizer
    tasks = build.tasks(config, "train")
    for iteration in range(20, 50):
        gradient, _ = before.meta_gradient(tasks.sample(iteration))
        optimizer.apply(gradient, before.trainable_variables)
    for ours, by_hand in zip(keras.saving.load_model(folder.model).get_weights(), before.get_weights(), strict=True):
        np.testing.assert_allclose(ours, by_hand, rtol=1e-4, atol=1e-6)


def test_what_the_run_had_is_a_run_of_its_own(extended):
    folder, before = extended
    earlier = RunFolder(folder.path / "until-20")
    assert configuration.load(earlier.config).training.extensions == ()
    assert json.loads(earlier.evaluation.read_text())["iterations"] == 20
    assert json.loads(folder.evaluation.read_text())["iterations"] == 50
    assert configuration.load(folder.config).training.extensions == (20,)
    assert keras.saving.load_model(earlier.model).optimizer.iterations == 20
    assert [row["iteration"] for row in read(earlier.metrics)] == ["10", "20"]


def test_a_run_that_patience_ended_goes_on_from_where_it_ended(tmp_path):
    values = {**VALUES, "training": {**TRAINING, "iterations": 60, "validate_every": 10, "validation_tasks": 4, "patience": 1}}
    values |= {"evaluation": {"batch": 4}, "optimizer": {"name": "sgd", "learning_rate": 1e-30}}  # no validation gains anything
    folder = RunFolder(tmp_path)
    training(configuration.from_dict(values), folder)
    assert [row["iteration"] for row in read(folder.metrics)] == ["10", "20"]
    extension.begin(folder, extension.extended(folder, 30))
    config = configuration.load(folder.config)
    assert (config.training.extensions, config.training.iterations) == ((20,), 50)
    training(config, folder)
    assert [row["iteration"] for row in read(folder.metrics)] == ["10", "20", "30", "40"]


def test_a_run_set_aside_keeps_the_record_of_its_data(finished, tmp_path):
    folder = RunFolder(shutil.copytree(finished / "run", tmp_path / "run"))
    extension.begin(folder, extension.extended(folder, 2))
    assert (folder.path / "until-2" / "data.json").read_text() == folder.data.read_text()


def test_a_stopped_extension_is_resumed_to_the_same_weights(extended, tmp_path):
    folder, _ = extended
    out = RunFolder(shutil.copytree(folder.path.parent / "before", tmp_path / "again"))
    extension.begin(out, extension.extended(out, 30))  # and the process is killed here
    assert not out.model.exists()
    training(configuration.load(out.config), out)
    for ours, uninterrupted in zip(*(keras.saving.load_model(f.model).get_weights() for f in (out, folder)), strict=True):
        np.testing.assert_array_equal(ours, uninterrupted)


def test_what_cannot_be_extended_is_one_line(tmp_path, capsys):
    assert train.main(["--extend", "10", "--out", str(tmp_path / "none")]) == 2
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.yaml").write_text(yaml.safe_dump(VALUES))
    assert train.main(["--extend", "10", "--out", str(tmp_path / "run")]) == 2
    assert "has no trained model" in capsys.readouterr().err.splitlines()[-1]
    with pytest.raises(SystemExit):
        train.main(["--extend", "0", "--out", str(tmp_path / "run")])
    values = {**VALUES, "training": {**TRAINING, "extensions": [10, 10]}}
    with pytest.raises(configuration.ConfigurationError, match="training.extensions must be increasing, and below training.iterations=20"):
        configuration.from_dict(values)


def test_a_restarted_schedule_is_saved_with_its_model():
    schedule = RestartedSchedule(keras.optimizers.schedules.CosineDecay(0.5, 100), 50)
    again = keras.saving.deserialize_keras_object(keras.saving.serialize_keras_object(schedule))
    assert [float(again(step)) for step in (0, 50, 100, 150)] == pytest.approx([0.5, 0.5, 0.25, 0.0])
