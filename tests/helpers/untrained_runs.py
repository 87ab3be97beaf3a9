"""A run folder to test, without a training."""

from stochlwta_tf.config import configuration
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder


def untrained(config, folder, data=None):
    """A run folder as after training, of a learner with fresh weights.

    Args:
        config: A `Configuration`, or its values.
        folder: Where it is made.
        data: The record of the data that it was trained on, if it has one.
    """
    config = configuration.from_dict(config) if isinstance(config, dict) else config
    folder = RunFolder(folder)
    folder.begin(config, data)
    build.learner(config, build.tasks(config, "train")).save(folder.model)
    return folder
