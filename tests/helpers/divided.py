"""Trains every learner over devices or processes: `python -m tests.helpers.divided none|mirrored|multi_worker OUT`.

`mirrored` has two logical devices of the CPU; a process of `multi_worker` has its place in `TF_CONFIG`.  Each run is in a folder of OUT;
what stops the one that diverges is in `OUT/stopped-<worker>.txt`.
"""

import shutil
import sys
from pathlib import Path

import tensorflow as tf

from stochlwta_tf.config import configuration
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.training import workers
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.train import train

LEARNERS = {
    "stochlwta": {"draws": 2},
    "reptile": {"inner_optimizer": "adam"},
    "maml": {},
    "fomaml": {},
    "abml": {"train_draws": 2, "draws": 2},
    "bmaml": {"particles": 2},
    "platipus": {"draws": 2},
}
RESUMED = "reptile"  # which carries variables from batch to batch
TRAINING = {"iterations": 20, "meta_batch_size": 4, "log_every": 5, "steps_per_execution": 5, "max_to_keep": 9, "validate_every": 10}


def values(learner, distribution, **options):
    """The configuration of a small run."""
    network = {"name": "dense_lwta", "blocks": [3]} if learner == "stochlwta" else {"name": "mlp", "units": [4]}
    return {
        "name": learner,
        "task": {"name": "sinusoid", "train_queries": 4},
        "network": network,
        "learner": {"name": learner, "inner_steps": 2, **options},
        "optimizer": {"name": "adam", "learning_rate": 0.01, "clip_norm": 0.1},
        "training": {**TRAINING, "validation_tasks": 8, "keep_best": True, "micro_batch": 1},
        "evaluation": {"tasks": 8, "batch": 4},
        "runtime": {"distribution": distribution},
    }


def main(distribution, out):
    if distribution == "mirrored":
        cpu = tf.config.list_physical_devices("CPU")[0]
        tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
    sharing = workers.start(configuration.from_dict(values("maml", distribution)))
    for learner, options in LEARNERS.items():
        folder = RunFolder(Path(out) / learner)
        config = configuration.from_dict(values(learner, distribution, **options))
        train(config, folder, sharing)
        if learner == RESUMED and sharing.writes:
            halve(folder, Path(out) / "resumed")
        if learner == RESUMED:
            train(config, RunFolder(Path(out) / "resumed"), sharing)
    exploding = configuration.from_dict(values("reptile", distribution, inner_lr=1e30))
    try:
        train(exploding, RunFolder(Path(out) / "explodes"), sharing)
    except NonFiniteError as error:
        (Path(out) / f"stopped-{sharing.index}.txt").write_text(str(error))
    sharing.end()


def halve(folder, copy):
    """A copy of a run that is left as if it had been killed after its second epoch."""
    shutil.copytree(folder.path, copy)
    half = RunFolder(copy)
    half.model.unlink()
    for path in half.checkpoints.glob("ckpt-*"):
        if int(path.name.split("-")[1].split(".")[0]) > TRAINING["log_every"] * 2:
            path.unlink()


if __name__ == "__main__":
    main(*sys.argv[1:])
