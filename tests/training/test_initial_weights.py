"""A training that starts from the weights of another: `train.py --from RUN`."""

import json

import keras
import numpy as np
import pytest
import yaml

from stochlwta_tf.cli import evaluate, train
from stochlwta_tf.config import configuration, identity
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.evaluation import provenance
from stochlwta_tf.training import build, initial_weights
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.train import train as training
from tests.helpers.own_pictures import TINY

LEARNS_RATES = {**TINY, "learner": {"name": "fomaml", "inner_steps": 1, "learn_inner_rates": True}}


def loaded(values, source, folder):
    """A new learner of these values that has taken the weights of `source`, the classes that it names, and its weights before."""
    values = {**values, "seed": 7, "task": {**values["task"], "data_dir": str(folder / "data")}}
    config = configuration.from_dict({**values, "training": {**values["training"], "initial_weights": str(source)}})
    splits = {split: build.tasks(config, split) for split in ("train", "validation", "test")}
    learner = build.learner(config, splits["train"])
    before = learner.get_weights()
    return learner, initial_weights.load(learner, config, splits), before


def equal(one, other):
    return len(one) == len(other) and all(np.array_equal(a, b) for a, b in zip(one, other, strict=True))


@pytest.fixture
def source(finished, monkeypatch):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(finished / "cache"))
    return keras.saving.load_model(finished / "run" / "model.keras")


def test_the_weights_are_those_of_the_run_and_its_classes_are_named(finished, source):
    learner, classes, before = loaded(TINY, finished / "run", finished)
    assert equal(learner.get_weights(), source.get_weights()) and not equal(before, source.get_weights())
    assert sorted(classes) == sorted(source.trained_on["classes"]) and len(classes) == 5


def test_another_learner_takes_the_network_and_one_of_the_same_kind_what_it_learned(finished, source, tmp_path):
    rates, _, _ = loaded(LEARNS_RATES, finished / "run", finished)
    assert equal(rates.network.get_weights(), source.network.get_weights())
    rates.set_weights([2.0 * w for w in rates.get_weights()])
    rates.save(tmp_path / "rates.keras")
    assert equal(loaded(LEARNS_RATES, tmp_path / "rates.keras", finished)[0].get_weights(), rates.get_weights())
    other, _, _ = loaded({**TINY, "learner": {"name": "reptile", "inner_steps": 1}}, tmp_path / "rates.keras", finished)
    assert equal(other.network.get_weights(), rates.network.get_weights()) and len(other.weights) < len(rates.weights)


def test_a_run_goes_on_from_another_and_resumes(finished, source, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(finished)
    options = ["--config", "own.yaml", "--from", "run", "--out", str(tmp_path / "on"), "--set", "task.data_dir=data", "seed=1"]
    assert train.main(options) == 0, capfd.readouterr().err
    run = RunFolder(tmp_path / "on")
    assert yaml.safe_load(run.config.read_text())["training"]["initial_weights"] == str(finished / "run")
    whole = keras.saving.load_model(run.model)
    assert set(whole.trained_on["classes"]) == set(source.trained_on["classes"])
    run.model.unlink()
    training(configuration.load(run.config), run)
    assert equal(keras.saving.load_model(run.model).get_weights(), whole.get_weights())


def test_a_test_knows_what_the_initial_weights_were_trained_on(finished, source, tmp_path, monkeypatch, capfd):
    """Weights that were trained on other classes of the same pictures: no record of the run's own data has those."""
    monkeypatch.chdir(finished)
    options = ["--config", "own.yaml", "--from", "run", "--set", "task.data_dir=data", "task.split_seed=1", "task.protocol=original_code"]
    assert train.main([*options, "--out", str(tmp_path / "on")]) == 0, capfd.readouterr().err
    run = RunFolder(tmp_path / "on")
    config = configuration.load(run.config)
    tested = build.class_names(build.tasks(config, "test"))
    seen = set(tested) & set(source.trained_on["classes"])
    assert seen and seen <= set(provenance.trained_on(run, config, config).classes)
    assert json.loads(run.evaluation.read_text())["classes"]["also_trained_on"] == len(seen)
    assert evaluate.main(["--run", str(run.path), "--protocol", "standard"]) == 2
    assert "protocol standard tests on classes that were not trained on" in capfd.readouterr().err


def test_it_is_no_repetition_of_a_training_from_fresh_weights():
    fresh, started = (
        configuration.from_dict({**TINY, "task": {**TINY["task"], "data_dir": "d"}, "training": {**TINY["training"], "initial_weights": w}})
        for w in (None, "run")
    )
    assert identity.difference(identity.training(fresh), identity.training(started)) == ("training.initial_weights", None, "run")


def test_a_class_of_the_test_that_was_trained_on_is_refused(finished, source, tmp_path):
    config = configuration.from_dict({**TINY, "task": {**TINY["task"], "data_dir": str(finished / "data")}})
    test_class = build.class_names(build.tasks(config, "test"))[0]
    source.trained_on = {**source.trained_on, "classes": [test_class]}
    source.save(tmp_path / "seen.keras")
    with pytest.raises(ConfigurationError, match=f"must not be trained on a class of the test, but 1 are in both.*{test_class}"):
        loaded(TINY, tmp_path / "seen.keras", finished)


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--from", "nowhere"], "nowhere, which does not exist"),
        (["--from", "data"], "has no trained model"),
        (["--from", "run", "--set", "network.units=[4]"], "training.initial_weights must be of the shapes [(75, 4), (4,), (4, 2), (2,)]"),
        (["--from", ""], "error: --from must not be empty"),
    ],
)
def test_what_cannot_be_started_from_is_one_line(options, message, finished, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(finished)
    monkeypatch.setenv("STOCHLWTA_CACHE", str(finished / "cache"))
    command = ["--config", "own.yaml", *options, "--out", str(tmp_path / "run"), "--set", "task.data_dir=data"]
    try:
        status = train.main(command)
    except SystemExit as error:
        status = error.code
    error = capfd.readouterr().err
    assert status == 2 and message in error and "Traceback" not in error
    assert not (tmp_path / "run").exists()
