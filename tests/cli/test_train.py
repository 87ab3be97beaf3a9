"""Training from the command line: a run's content, resuming it, and what stops it."""

import contextlib
import io
import os
import shutil
import signal
import subprocess
import sys
import time

import keras
import numpy as np
import pytest
import tensorflow as tf
import yaml

from stochlwta_tf.cli import train
from stochlwta_tf.config import configuration
from stochlwta_tf.training.records import read
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.train import train as training

TINY = {
    "name": "tiny",
    "task": {"name": "sinusoid", "train_queries": 0},
    "network": {"name": "mlp", "units": [4], "weights": "gaussian", "predict_with": "mean"},
    "learner": {"name": "reptile", "inner_steps": 1},
    "optimizer": {"name": "adam", "learning_rate": 0.01, "schedule": "linear"},
    "training": {
        "iterations": 4000, "meta_batch_size": 4, "log_every": 50, "validate_every": 1000, "validation_tasks": 8, "steps_per_execution": 25,
    },
    "evaluation": {"tasks": 6, "batch": 4, "inner_steps": 3},
}  # fmt: skip


@pytest.fixture(scope="module")
def config(tmp_path_factory):
    path = tmp_path_factory.mktemp("configs") / "tiny.yaml"
    path.write_text(yaml.safe_dump(TINY))
    return str(path)


@pytest.fixture(scope="module")
def finished(config, tmp_path_factory):
    """A short run: its folder, and what was printed."""
    folder, out, err = tmp_path_factory.mktemp("runs") / "tiny", io.StringIO(), io.StringIO()
    command = ["--config", config, "--set", "training.iterations=200", "training.validate_every=150", "--out", str(folder)]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        assert train.main(command) == 0
    return RunFolder(folder), out.getvalue(), err.getvalue()


@pytest.fixture(scope="module")
def run(finished):
    return finished[0]


def final_state(folder):
    checkpoint = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(folder.checkpoints)))
    keys = [k for k in checkpoint.get_variable_to_shape_map() if k != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    return {key: checkpoint.get_tensor(key) for key in keys}


def test_a_run_leaves_everything_in_its_folder(run):
    names = {p.name for p in run.path.iterdir() if p.name != ".lock"}
    assert names == {
        "config.yaml", "environment.json", "metrics.csv", "tensorboard", "checkpoints", "model.keras", "evaluation.json", "predictions.png",
    }  # fmt: skip
    rows = read(run.metrics)
    assert [row["iteration"] for row in rows] == ["50", "100", "150", "200"]
    assert [row["val_mse"] != "" for row in rows] == [False, False, True, True]  # and the last, whatever the distance
    assert float(rows[-1]["learning_rate"]) == 0.0
    learner = keras.saving.load_model(run.model)
    for saved in learner.get_weights():
        assert any(np.array_equal(saved, value) for value in final_state(run).values())


def test_output_that_is_no_terminal_has_lines_of_progress(finished):
    run, out, err = finished
    lines = [line for line in err.splitlines() if line.startswith("Training: ")]
    assert out.endswith(f"The run is in {run.path}.\n") and err.startswith("Training: 0/200, compiling; numbers follow every 50\n")
    assert lines[-1].startswith("Training: 200/200, ") and "loss " in lines[-1] and "\r" not in err and "\x1b" not in err


def test_a_run_is_not_overwritten_and_not_resumed_with_other_options(run, config, capfd):
    before = run.model.stat().st_mtime_ns
    assert train.main(["--config", config, "--out", str(run.path)]) == 2
    assert "already contains a run" in capfd.readouterr().err
    assert train.main(["--config", config, "--out", str(run.path), "--resume"]) == 2
    assert "the run to resume has training.iterations=200. Received: training.iterations=4000." in capfd.readouterr().err
    assert run.model.stat().st_mtime_ns == before


def test_a_run_whose_last_checkpoint_was_cut_resumes_from_the_one_before(run, tmp_path, capfd):
    damaged = RunFolder(shutil.copytree(run.path, tmp_path / "run"))
    (damaged.checkpoints / "checkpoint").unlink()
    data = damaged.checkpoints / "ckpt-200.data-00000-of-00001"
    data.write_bytes(data.read_bytes()[:100])
    damaged.environment.write_text("")
    training(configuration.load(damaged.config), damaged)
    error = capfd.readouterr().err
    assert f"{damaged.checkpoints}: ckpt-200 cannot be restored; resuming from ckpt-150, the newest intact checkpoint.\n" in error
    assert f"{damaged.environment}: cannot be read (Expecting value" in error
    a, b = final_state(run), final_state(damaged)
    assert a.keys() == b.keys() and all(np.array_equal(a[key], b[key]) for key in a)
    assert [row["iteration"] for row in read(damaged.metrics)] == ["50", "100", "150", "200"]


@pytest.mark.slow
def test_a_signal_ends_a_run_that_can_be_resumed(config, tmp_path):
    command = [
        sys.executable,
        "-m",
        "stochlwta_tf.cli.train",
        "--config",
        config,
        "--out",
        str(tmp_path / "run"),
        "--set",
        "training.validate_every=0",
        "network.weights=point",
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"})
    while not (tmp_path / "run" / "checkpoints" / "checkpoint").exists() and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    error = process.communicate()[1].splitlines()[-1]
    assert process.returncode == 128 + signal.SIGTERM
    assert error == f"SIGTERM: stopped; resume with: train.py --resume --out {tmp_path / 'run'}"
    assert tf.train.latest_checkpoint(str(tmp_path / "run" / "checkpoints"))


def test_a_loss_that_is_not_finite_names_the_term_and_keeps_the_checkpoint(config, tmp_path, capfd):
    options = ["optimizer.name=sgd", "optimizer.learning_rate=1.0", "learner.inner_lr=1000.0", "learner.inner_steps=20"]
    options += ["training.iterations=50", "training.steps_per_execution=1", "training.log_every=1", "network.weights=point"]
    assert train.main(["--config", config, "--out", str(tmp_path / "run"), "--set", *options]) == 3
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1
    rows = read(RunFolder(tmp_path / "run").metrics)
    assert f"not finite at iteration {len(rows)} (seed 0): task " in lines[0]
    assert "negative log-likelihood" in lines[0]
    assert not (tmp_path / "run" / "model.keras").exists()


TOO_FEW = (
    "has too few images for shot + queries: set task.shot and task.queries (in training task.train_shot and task.train_queries) lower."
    " Received: 20 for 45."
)


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["optimizer.learning_rate=fast"], 'optimizer.learning_rate must be a valid number. Received: optimizer.learning_rate="fast".'),
        (["task.name=glyphs", "task.way=0"], "task.way must be greater than or equal to 1"),
        (["task.name=glyphs", "task.way=1000"], "way"),
        (["task.name=glyphs", "task.shot=30"], TOO_FEW),
        (["network.name=mlp", "network.units=[6, 5]", "network.activation=stochastic_lwta"], "network: "),
        (["learner.name=maml", "task.train_queries=0"], "learner.name=maml needs task.train_queries of 1 or more. Received: 0."),
        (["network.name=conv4"], "network: `conv4` needs images"),
        (["runtime.device=gpu"], "runtime.device must be cpu or auto where TensorFlow finds no GPU"),
        (["seed"], "--set needs key=value"),
    ],
)
def test_a_wrong_configuration_is_one_line_and_writes_nothing(config, tmp_path, capfd, options, message):
    if "runtime.device=gpu" in options and tf.config.list_physical_devices("GPU"):
        pytest.skip("there is a GPU")
    assert train.main(["--config", config, "--out", str(tmp_path / "run"), "--set", *options]) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if line]
    assert len(lines) == 1
    assert lines[0].startswith("error: ")
    assert message in lines[0]
    assert not (tmp_path / "run").exists()


@pytest.mark.badinput
def test_a_missing_file_is_one_line(tmp_path, capfd):
    assert train.main(["--config", str(tmp_path / "none.yaml")]) == 2
    assert capfd.readouterr().err == f"error: {tmp_path / 'none.yaml'}: cannot read the configuration: No such file or directory.\n"


@pytest.mark.badinput
def test_missing_data_is_one_line(config, tmp_path, capfd, monkeypatch):
    monkeypatch.setattr("stochlwta_tf.tasks.omniglot.cached_bank", lambda name, key, make: make())  # as where nothing was cached yet
    monkeypatch.setattr("tensorflow_datasets.core.DatasetBuilder.download_and_prepare", _offline)
    options = ["task.name=omniglot", f"task.data_dir={tmp_path / 'none'}"]
    assert train.main(["--config", config, "--out", str(tmp_path / "run"), "--set", *options]) == 2
    error = capfd.readouterr().err.splitlines()[-1]
    assert error.startswith(f"error: Omniglot is not in {tmp_path / 'none'}")
    assert "set data_dir or TFDS_DATA_DIR" in error
    assert not (tmp_path / "run").exists()


def _offline(*_, **__):
    raise ConnectionError("no network")


@pytest.mark.badinput
def test_nothing_to_train_is_a_usage_error(capfd):
    with pytest.raises(SystemExit) as stop:
        train.main(["--resume"])
    assert stop.value.code == 2
    assert "--config is needed, or --resume with --out" in capfd.readouterr().err
