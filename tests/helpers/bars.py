"""A data set for the tests of protocols: pictures of one bright row, of which a class is a row and its images differ in one pixel."""

import numpy as np

from stochlwta_tf.config import configuration
from stochlwta_tf.tasks import SPLITS, ImageTasks
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.training import build, data_record
from tests.helpers.untrained_runs import untrained

SIZE, IMAGES = 12, 6


def pictures(rows, images=IMAGES):
    """uint8 `[rows * images, SIZE, SIZE, 1]`, sorted by row."""
    x = np.zeros((len(rows), images, SIZE, SIZE, 1), "uint8")
    for c, row in enumerate(rows):
        x[c, :, row] = 200
        x[c, np.arange(images), :, np.arange(images)] += 50
    return x.reshape(-1, SIZE, SIZE, 1)


def bank(rows, first_name=None):
    count = np.full(len(rows), IMAGES)
    names = [f"row {first_name + i if first_name is not None else row}" for i, row in enumerate(rows)]
    return ClassBank(pictures(rows), np.cumsum(count) - count, count, names)


class Bars(ImageTasks):
    """Rows 0 to 5 for training, 6 to 11 for testing; in protocol `paper` the same rows in both, in `original_code` labels of their own."""

    protocols = ("standard", "paper", "original_code")

    def __init__(self, split, batch, seed, *, protocol: ProtocolName = "standard", **options):
        training, test = range(6), range(6, 12)
        if protocol == "paper":
            banks = {"train": bank(training), "test": bank(training)}
        else:
            banks = {"train": bank(training), "test": bank(test, 100 if protocol == "original_code" else None)}
        super().__init__({**banks, "validation": banks["train"]}, split, batch, seed, protocol=protocol, **options)


CONFIG = {
    "name": "bars",
    "task": {"name": "bars", "way": 3, "shot": 2, "queries": 2, "train_queries": 0},
    "network": {"name": "mlp", "units": [8]},
    "learner": {"name": "reptile", "inner_lr": 0.1, "inner_steps": 2},
    "optimizer": {"name": "sgd", "learning_rate": 0.5},
    "training": {"iterations": 200, "meta_batch_size": 1, "log_every": 50},
    "evaluation": {"tasks": 40, "batch": 20},
}


def run(folder, protocol="standard", **sections):
    """A run folder as after training under a protocol, of a learner with fresh weights; sections take the place of those of `CONFIG`."""
    config = configuration.from_dict({**CONFIG, **sections, "task": {**CONFIG["task"], "protocol": protocol}})
    return untrained(config, folder, data_record.describe({split: build.tasks(config, split) for split in SPLITS}))
