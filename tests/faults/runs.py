"""The trainings that faults are tried on, and what of a run must be the same however often it was stopped."""

import io
import json
import time
import zipfile
from pathlib import Path

import h5py
import tensorflow as tf
import yaml

from stochlwta_tf.training.records import COSTS, read
from stochlwta_tf.training.run_folder import RunFolder

TRAINING = {"iterations": 400, "meta_batch_size": 4, "log_every": 20, "steps_per_execution": 10}
CONFIGS = {
    "maml": {
        "name": "maml",
        "task": {"name": "sinusoid", "train_queries": 5},
        "network": {"name": "mlp", "units": [8]},
        "learner": {"name": "maml", "inner_steps": 1},
        "optimizer": {"name": "adam", "learning_rate": 0.1, "schedule": "linear"},
        "training": {**TRAINING, "validate_every": 40, "validation_tasks": 8, "keep_best": True},
        "evaluation": {"tasks": 8, "batch": 4},
    },
    "stochlwta": {
        "name": "stochlwta",
        "task": {"name": "sinusoid", "train_queries": 0},
        "network": {"name": "dense_lwta", "blocks": [3]},
        "learner": {"name": "stochlwta", "inner_steps": 1, "draws": 2},
        "optimizer": {"name": "adam", "learning_rate": 0.01},
        "training": TRAINING,
        "evaluation": {"tasks": 8, "batch": 4, "after_training": False},
    },
    "images": {
        "name": "images",
        "task": {"name": "glyphs", "way": 3, "shot": 1, "queries": 1, "train_queries": 0, "protocol": "original_code"},
        "network": {"name": "mlp", "units": [4]},
        "learner": {"name": "reptile", "inner_lr": 0.1, "inner_steps": 1},
        "optimizer": {"name": "sgd", "learning_rate": 0.5},
        "training": {**TRAINING, "meta_batch_size": 1},
        "evaluation": {"tasks": 8, "batch": 4},
    },
}
LAST = TRAINING["iterations"]


def write_configs(folder):
    """The configurations as files of a folder."""
    for name, values in CONFIGS.items():
        (folder / f"{name}.yaml").write_text(yaml.safe_dump(values))


def rows(folder):
    """How many lines `metrics.csv` has below its header."""
    path = Path(folder) / "metrics.csv"
    return max(path.read_bytes().count(b"\n") - 1, 0) if path.exists() else 0


def outcome(folder):
    """What a run has come to, as a dictionary of plain values: everything but times and the descriptions of its starts."""
    folder = RunFolder(folder)
    found = {
        "files": sorted(p.name for p in folder.path.iterdir() if p.name != ".lock" and not p.name.startswith("environment")),
        "checkpoints": sorted(p.name for p in folder.checkpoints.iterdir()),
        "state": _tensors(folder.checkpoints / f"ckpt-{LAST}"),
        "metrics": [{k: v for k, v in row.items() if k not in COSTS} for row in read(folder.metrics)],
        "config": folder.config.read_text(),
        "data": folder.data.read_text() if folder.data.exists() else None,
        "model": weights(folder.model),
        "best": weights(folder.best) if folder.best.exists() else None,
    }
    if folder.evaluation.exists():
        result = json.loads(folder.evaluation.read_text())
        found |= {key: result[key] for key in ("measures", "per_task") if key in result}
    return found


def differences(a, b):
    """The keys of two outcomes whose values differ."""
    return [key for key in {**a, **b} if a.get(key) != b.get(key)]


def _tensors(prefix):
    checkpoint = tf.train.load_checkpoint(str(prefix))
    keys = [key for key in checkpoint.get_variable_to_shape_map() if key != "_CHECKPOINTABLE_OBJECT_GRAPH"]
    return {key: checkpoint.get_tensor(key).tobytes() for key in sorted(keys)}


def weights(path):
    """The bits of the weights in a `.keras` or `.weights.h5` file, by name."""
    data = zipfile.ZipFile(path).read("model.weights.h5") if path.suffix == ".keras" else path.read_bytes()
    found = {}
    with h5py.File(io.BytesIO(data), "r") as file:
        file.visititems(lambda name, item: found.update({name: item[()].tobytes()}) if isinstance(item, h5py.Dataset) else None)
    return found


def until(condition, child, seconds=300.0):
    """Waits until a condition holds or the training has ended; fails if neither happens."""
    end = time.monotonic() + seconds
    while not condition() and child.running():
        assert time.monotonic() < end, "neither happened"
        time.sleep(0.003)
