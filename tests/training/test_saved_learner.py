"""A run's model file: one that is damaged, or would run code, is refused in one line."""

import io
import json
import pathlib
import zipfile
from types import SimpleNamespace

import keras
import numpy as np
import pytest

from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.learners import MAML
from stochlwta_tf.training import build
from stochlwta_tf.training.best import load_best
from tests.helpers.small_learners import point_mlp

TASKS = SimpleNamespace(input_shape=(2,), outputs=3)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    MAML(point_mlp()).save(path)
    return path.read_bytes()


def inverted(data):
    middle = len(data) // 2
    return data[:middle] + bytes(255 - byte for byte in data[middle : middle + 40]) + data[middle + 40 :]


def members(data, change):
    """The file with members changed: each is passed with its name, and None leaves it out."""
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as old, zipfile.ZipFile(out, "w") as new:
        for name in old.namelist():
            content = change(name, old.read(name))
            if content is not None:
                new.writestr(name, content)
    return out.getvalue()


def without(part):
    return lambda data: members(data, lambda name, content: None if name == part else content)


def replaced(part, text):
    return lambda data: members(data, lambda name, content: text if name == part else content)


@pytest.mark.parametrize(
    "damage",
    [
        inverted,
        lambda data: b"",
        lambda data: data[: len(data) // 2],
        lambda data: b"<html>",
        without("config.json"),
        without("model.weights.h5"),
        replaced("config.json", b"{"),
        replaced("config.json", b"[]"),
        replaced("config.json", b"\xff\xfe"),
        replaced("config.json", b"[" * 100_000),
        replaced("model.weights.h5", b""),
        replaced("model.weights.h5", b"\x89HDF"),
    ],
)
def test_a_damaged_model_is_one_line(tmp_path, saved, damage):
    path = tmp_path / "model.keras"
    path.write_bytes(damage(saved))
    with pytest.raises(UserError, match="model.keras: cannot be loaded, it is damaged or not a learner of this version: ") as error:
        build.saved_learner(path, TASKS)
    assert "\n" not in str(error.value)


def test_a_whole_model_is_loaded_if_it_fits(tmp_path, saved):
    path = tmp_path / "model.keras"
    path.write_bytes(saved)
    assert isinstance(build.saved_learner(path, TASKS), MAML)
    with pytest.raises(ConfigurationError, match="the tasks need inputs and outputs of"):
        build.saved_learner(path, SimpleNamespace(input_shape=(3,), outputs=3))
    keras.Sequential([keras.Input((2,)), keras.layers.Dense(3)]).save(path)
    with pytest.raises(UserError, match="must be a learner that train.py saved. Received: a model of the class Sequential"):
        build.saved_learner(path, TASKS)


def test_a_lambda_layer_is_refused_and_not_run(tmp_path):
    network = keras.Sequential([keras.Input((2,)), keras.layers.Lambda(lambda x: __import__("os").mkdir("made") or x, output_shape=(2,))])
    network.add(keras.layers.Dense(3))
    path = tmp_path / "model.keras"
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path)
        keras.Sequential([network]).save(path)
        with pytest.raises(UserError, match="cannot be loaded"):
            build.saved_learner(path, TASKS)
    assert [p.name for p in tmp_path.iterdir()] == ["model.keras"]


@pytest.mark.parametrize(
    "attack",
    [
        {"module": "os", "class_name": "mkdir", "config": "made", "registered_name": None},
        {"module": "os", "class_name": "function", "config": "mkdir", "registered_name": "mkdir"},
        {"module": "builtins", "class_name": "exec", "config": {}, "registered_name": None},
        {"module": "keras.utils", "class_name": "get_file", "config": {"fname": "made", "origin": "x"}, "registered_name": None},
        {"module": "keras.config", "class_name": "enable_unsafe_deserialization", "config": {}, "registered_name": None},
    ],
)
def test_a_configuration_that_names_functions_runs_none(tmp_path, monkeypatch, saved, attack):
    def attacked(name, content):
        if name != "config.json":
            return content
        config = json.loads(content)
        config["config"]["network"] = {**config["config"]["network"], **attack, "build_config": {"input_shape": [None, 2]}}
        return json.dumps(config)

    monkeypatch.chdir(tmp_path)
    pathlib.Path("model.keras").write_bytes(members(saved, attacked))
    with pytest.raises(UserError, match="cannot be loaded"):
        build.saved_learner(pathlib.Path("model.keras"), TASKS)
    assert [p.name for p in tmp_path.iterdir()] == ["model.keras"]


@pytest.mark.parametrize("name", ["../escaped", "assets/../../escaped", "/tmp/stochlwta_escaped"])
def test_members_outside_the_file_are_not_written(tmp_path, saved, name):
    inside = tmp_path / "a" / "b"
    inside.mkdir(parents=True)
    data = io.BytesIO(saved)
    with zipfile.ZipFile(data, "a") as archive:
        archive.writestr(name, "x")
    (inside / "model.keras").write_bytes(data.getvalue())
    try:
        build.saved_learner(inside / "model.keras", TASKS)
    except UserError:
        pass
    assert [p.relative_to(tmp_path).as_posix() for p in sorted(tmp_path.rglob("*"))] == ["a", "a/b", "a/b/model.keras"]
    assert not pathlib.Path("/tmp/stochlwta_escaped").exists()


def test_damaged_best_weights_are_one_line(tmp_path):
    learner, path = MAML(point_mlp()), tmp_path / "best.weights.h5"
    folder = SimpleNamespace(best=path, metrics=tmp_path / "metrics.csv")
    folder.metrics.write_text("iteration,val_accuracy\n10,0.5\n")
    learner.save_weights(path)
    before = [np.array(v) for v in learner.get_weights()]
    load_best(learner, folder)
    for content in (path.read_bytes()[:500], b"", b"<html>"):
        path.write_bytes(content)
        with pytest.raises(UserError, match="best.weights.h5: missing or damaged, but iteration 10 had the best validation") as error:
            load_best(learner, folder)
        assert "\n" not in str(error.value)
    for a, b in zip(before, learner.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)
