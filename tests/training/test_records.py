"""What a run records: rows, TensorBoard points and checkpoints, over stops and starts."""

import csv
import pathlib
import types

import keras
import numpy as np
import pytest
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from stochlwta_tf import networks
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import UserError
from stochlwta_tf.learners import LEARNERS
from stochlwta_tf.training.records import Checkpoints, MetricsLog, read
from stochlwta_tf.training.run_folder import RunFolder

SHORT = ["iterations=40", "log_every=10", "steps_per_execution=10", "validate_every=0"]
CONFIG = configuration.load("sinusoid_default", [f"training.{value}" for value in SHORT])
MODEL = types.SimpleNamespace(optimizer=types.SimpleNamespace(learning_rate=np.float32(0.5)))


def log(folder, done, epochs):
    callback = MetricsLog(folder, CONFIG, done)
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
    callback = MetricsLog(folder, CONFIG, 0)
    callback.set_model(MODEL)
    callback.on_train_begin()
    callback.on_epoch_end(0, {"loss": 3.0})
    assert points(folder, "loss") == [(10, 3.0)]
    assert list(csv.DictReader(folder.metrics.open()))[0]["learning_rate"] == "0.5"


def learner(units=1):
    model = keras.Sequential([keras.Input((2,)), keras.layers.Dense(units)])
    model.compile(keras.optimizers.Adam(0.1))
    model.optimizer.build(model.trainable_variables)
    model.carried = []  # as a learner's
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


@pytest.mark.parametrize("name", LEARNERS)
def test_a_checkpoint_restores_every_variable_of_every_learner(name, tmp_path):
    """Also those that no optimizer trains, such as the state of Reptile's inner Adam."""

    def compiled():
        made = LEARNERS[name](
            networks.mlp((1,), 1, units=(2,)), likelihood="gaussian", **({"inner_optimizer": "adam"} if "rept" in name else {})
        )
        made.compile("adam")
        return made, [*made.variables, *made.optimizer.variables]

    model, variables = compiled()
    for number, variable in enumerate(variables):
        if variable.dtype == "float32":
            variable.assign(np.full(variable.shape, number + 1.0))
    checkpoints = Checkpoints(tmp_path, model, keep=1)
    checkpoints.set_model(model)
    checkpoints.on_epoch_end(0)
    other, restored = compiled()
    Checkpoints(tmp_path, other, keep=1).restore()
    for a, b in zip(variables, restored, strict=True):
        np.testing.assert_array_equal(a, b, err_msg=a.path)


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


def trained(folder, epochs=3):
    """A folder with checkpoints of the last two epochs, and the weights in each."""
    model, weights = learner(), {}
    checkpoints = Checkpoints(folder, model, keep=2)
    checkpoints.set_model(model)
    for epoch in range(epochs):
        model.optimizer.apply([tf.ones_like(v) for v in model.trainable_variables], model.trainable_variables)
        checkpoints.on_epoch_end(epoch)
        weights[epoch + 1] = [v.numpy() for v in model.variables + model.optimizer.variables]
    return weights


def cut(path):
    path.write_bytes(path.read_bytes()[:100])


def foreign(folder):
    """TensorFlow deletes the oldest checkpoints of its list, wherever they are."""
    listed = (folder / "checkpoint").read_text(encoding="utf-8")
    (folder.parent / "precious.txt").write_text("", encoding="utf-8")
    (folder / "checkpoint").write_text(listed.replace('"ckpt-2"', '"../precious"'), encoding="utf-8")


@pytest.mark.parametrize(
    ("damage", "restored", "said"),
    [
        (lambda f: (f / "checkpoint").unlink(), 3, "checkpoint is missing or damaged; resuming from ckpt-3, the newest intact checkpoint."),
        (lambda f: (f / "checkpoint").write_text(""), 3, "checkpoint is missing or damaged; resuming from ckpt-3,"),
        (lambda f: (f / "checkpoint").write_text("garbage"), 3, "checkpoint is missing or damaged; resuming from ckpt-3,"),
        (lambda f: (f / "checkpoint").write_bytes(b"\xff\x00" * 9), 3, "checkpoint is missing or damaged; resuming from ckpt-3,"),
        (lambda f: foreign(f), 3, "checkpoint is missing or damaged; resuming from ckpt-3,"),
        (lambda f: cut(f / "ckpt-3.data-00000-of-00001"), 2, "ckpt-3 cannot be restored; resuming from ckpt-2, the newest intact"),
        (lambda f: cut(f / "ckpt-3.index"), 2, "ckpt-3 cannot be restored; resuming from ckpt-2,"),
        (lambda f: (f / "ckpt-3.data-00000-of-00001").unlink(), 2, "ckpt-3 cannot be restored; resuming from ckpt-2,"),
        (lambda f: ((f / "checkpoint").unlink(), cut(f / "ckpt-3.index")), 2, "ckpt-3 cannot be restored; resuming from ckpt-2,"),
        (lambda f: (f / "ckpt-3.index").unlink(), 2, ""),  # as when it was not written yet
        (lambda f: None, 3, ""),
    ],
    ids=[
        "no list",
        "empty list",
        "garbage list",
        "binary list",
        "foreign list",
        "cut",
        "cut index",
        "no data",
        "cut without list",
        "no index",
        "whole",
    ],
)
def test_the_newest_whole_checkpoint_is_restored_and_none_is_lost(tmp_path, monkeypatch, capfd, damage, restored, said):
    monkeypatch.chdir(tmp_path)
    tmp_path = pathlib.Path("run") / "checkpoints"  # as users name it; TensorFlow takes relative and absolute folders differently
    weights = trained(tmp_path)
    damage(tmp_path)
    model = learner()
    checkpoints = Checkpoints(tmp_path, model, keep=2)
    checkpoints.set_model(model)
    capfd.readouterr()
    checkpoints.restore()
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith(str(tmp_path))]
    assert [said in line for line in lines] == [True] * bool(said)
    for a, b in zip(weights[restored], model.variables + model.optimizer.variables, strict=True):
        np.testing.assert_array_equal(a, b)
    assert checkpoints.latest == str(tmp_path / f"ckpt-{restored}") and (tmp_path / "ckpt-2.index").exists()
    for epoch in range(restored, 5):  # and training goes on as ever
        model.optimizer.apply([tf.ones_like(v) for v in model.trainable_variables], model.trainable_variables)
        checkpoints.on_epoch_end(epoch)
    assert sorted(p.name for p in tmp_path.glob("*.index")) == ["ckpt-4.index", "ckpt-5.index"]
    assert damage.__code__.co_names != ("foreign",) or (tmp_path.parent / "precious.txt").exists()
    Checkpoints(tmp_path, learner(), keep=2).restore()
    assert not capfd.readouterr().err


def test_what_a_killed_process_left_is_removed_and_nothing_else(tmp_path):
    trained(tmp_path)
    (tmp_path / "ckpt-4_temp").mkdir()
    before = {path.name for path in tmp_path.iterdir() if path.is_file()}
    left = ["ckpt-4_temp/part-00000", "checkpoint.tmp0123456789abcdef", "ckpt-1.data-00000-of-00001"]
    for name in [*left, "notes.txt", "ckpt-9.data-00000-of-00001"]:
        (tmp_path / name).write_text("")
    Checkpoints(tmp_path, learner(), keep=2).restore()
    assert {path.name for path in tmp_path.iterdir()} == before | {"notes.txt", "ckpt-9.data-00000-of-00001"}


@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_a_changed_bit_is_noticed_or_means_nothing(tmp_path, capfd, part):
    weights, model, noticed = trained(tmp_path), learner(), 0
    path, lists = tmp_path / f"ckpt-3.{part}", (tmp_path / "checkpoint").read_bytes()
    data = path.read_bytes()
    for place in range(0, len(data), len(data) // 25):
        path.write_bytes(data[:place] + bytes([data[place] ^ 1 << place % 8]) + data[place + 1 :])
        (tmp_path / "checkpoint").write_bytes(lists)
        capfd.readouterr()
        Checkpoints(tmp_path, model, keep=2).restore()
        said = "ckpt-3 cannot be restored; resuming from ckpt-2" in capfd.readouterr().err
        noticed += said
        for a, b in zip(weights[2 if said else 3], model.variables + model.optimizer.variables, strict=True):
            np.testing.assert_array_equal(a, b)
    assert noticed > 20


def test_nothing_is_begun_over_checkpoints_that_are_all_damaged(tmp_path):
    trained(tmp_path)
    (tmp_path / "checkpoint").unlink()
    for path in tmp_path.glob("*.data*"):
        cut(path)
    before = {p.name: p.read_bytes() for p in tmp_path.iterdir()}
    with pytest.raises(
        UserError, match=r"ckpt-3: this checkpoint cannot be restored, .* Nor can ckpt-2. To train .* with --out.$"
    ) as error:
        Checkpoints(tmp_path, learner(), keep=2).restore()
    assert "\n" not in str(error.value)
    assert {p.name: p.read_bytes() for p in tmp_path.iterdir()} == before


def test_rows_that_a_power_cut_left_as_zeros_are_left_out(tmp_path):
    (tmp_path / "metrics.csv").write_bytes(b"iteration,seconds\n10,1.0\n20,2" + b"\0" * 50 + b"\n\xff\n")
    assert read(tmp_path / "metrics.csv") == [{"iteration": "10", "seconds": "1.0"}]


@pytest.mark.parametrize("row", ["²,1.0", "20,2x0", "20", "20,1.0,3", "a,1", ",", '20,"' + "1" * 200_000 + '"'])
def test_a_damaged_row_and_what_follows_it_are_left_out(tmp_path, row):
    (tmp_path / "metrics.csv").write_text(f"iteration,seconds\n10,\n{row}\n30,3.0\n", encoding="utf-8")
    assert read(tmp_path / "metrics.csv") == [{"iteration": "10", "seconds": ""}]
