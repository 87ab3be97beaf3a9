"""What a run records: rows, TensorBoard points and checkpoints, over stops and starts."""

import csv
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from stochlwta_tf.errors import UserError
from stochlwta_tf.experiment.records import Checkpoints, MetricsLog, read
from stochlwta_tf.experiment.run_folder import RunFolder

MODEL = types.SimpleNamespace(optimizer=types.SimpleNamespace(learning_rate=np.float32(0.5)))


def log(folder, done, epochs):
    callback = MetricsLog(folder, done, epoch=10)
    callback.set_model(MODEL)
    callback.on_train_begin()
    for epoch, logs in epochs.items():
        callback.on_epoch_end(epoch, logs)


def points(folder, tag):
    events = EventAccumulator(str(folder.tensorboard)).Reload()
    return [(e.step, pytest.approx(events_value(e))) for e in events.Tensors(tag)]


def events_value(event):
    return float(tf.make_ndarray(event.tensor_proto))


def test_rows_beyond_the_restored_iteration_are_cut_off(tmp_path):
    folder = RunFolder(tmp_path)
    log(folder, 0, {0: {"loss": 3.0}, 1: {"loss": 2.0, "val_mse": 9.0}, 2: {"loss": 1.5}})
    with folder.metrics.open("a") as file:
        file.write("40,1.0,0.")  # a row that a kill cut short
    log(folder, 20, {2: {"loss": 1.25}, 3: {"loss": 1.0}})
    rows = read(folder.metrics)
    assert [(row["iteration"], row["loss"], row["val_mse"]) for row in rows] == [
        ("10", "3.0", ""), ("20", "2.0", "9.0"), ("30", "1.25", ""), ("40", "1.0", "")]  # fmt: skip
    seconds = [float(row["seconds"]) for row in rows]
    assert seconds == sorted(seconds)
    assert points(folder, "loss") == [(10, 3.0), (20, 2.0), (30, 1.25), (40, 1.0)]
    assert points(folder, "val_mse") == [(20, 9.0)]


def test_points_are_on_disk_before_the_run_ends(tmp_path):
    folder = RunFolder(tmp_path)
    callback = MetricsLog(folder, 0, epoch=10)
    callback.set_model(MODEL)
    callback.on_train_begin()
    callback.on_epoch_end(0, {"loss": 3.0})
    assert points(folder, "loss") == [(10, 3.0)]
    assert list(csv.DictReader(folder.metrics.open()))[0]["learning_rate"] == "0.5"


def learner(units=1):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(keras.optimizers.Adam(0.1))
    model.optimizer.build(model.trainable_variables)
    return model


def test_a_checkpoint_restores_weights_and_optimizer(tmp_path):
    model = learner()
    checkpoints = Checkpoints(tmp_path, model, keep=2)
    checkpoints.set_model(model)
    checkpoints.restore()  # nothing there: nothing happens
    for epoch in range(3):
        model.optimizer.apply([tf.ones_like(v) for v in model.trainable_variables], model.trainable_variables)
        checkpoints.on_epoch_end(epoch)
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["ckpt-2.index", "ckpt-3.index"]
    other = learner()
    Checkpoints(tmp_path, other, keep=2).restore()
    for a, b in zip(model.variables + model.optimizer.variables, other.variables + other.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    assert int(other.optimizer.iterations) == 3


def test_a_checkpoint_of_another_network_or_a_damaged_one_is_one_line(tmp_path):
    model = learner()
    checkpoints = Checkpoints(tmp_path, model, keep=2)
    checkpoints.set_model(model)
    checkpoints.on_epoch_end(0)
    with pytest.raises(UserError, match="cannot be restored"):
        Checkpoints(tmp_path, learner(units=3), keep=2).restore()
    (tmp_path / "ckpt-0.index").write_bytes(b"damaged")
    with pytest.raises(UserError, match="ckpt-0: this checkpoint cannot be restored") as error:
        Checkpoints(tmp_path, learner(), keep=2).restore()
    assert "\n" not in str(error.value)
