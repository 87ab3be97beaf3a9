"""A finished run that goes on: `train.py --extend N --out DIR`."""

import os

from stochlwta_tf.config import configuration
from stochlwta_tf.errors import UserError
from stochlwta_tf.training.records import iterations_of
from stochlwta_tf.training.run_folder import write_text, writing


def extended(folder, iterations):
    """The configuration of a finished run with further iterations, over which the schedule of the outer step runs anew.

    Args:
        folder: The `RunFolder`.
        iterations: How many more.

    Raises:
        UserError: The run is not finished, or has no checkpoint to go on from.
        ConfigurationError: There is no run, or the number does not suit it.
    """
    config = configuration.load(folder.config)
    folder.check_trained()
    if not folder.has_checkpoints():
        raise UserError(f"{folder.path} has no checkpoints to go on from; start from its weights in another folder: train.py --from.")
    values = config.resolved()
    training, reached = values["training"], iterations_of(config, folder.metrics)
    training["extensions"] = [*training["extensions"], reached]
    training["iterations"] = reached + iterations
    return configuration.from_dict(values, where="--extend")


def begin(folder, config):
    """Sets the finished run's model and results aside, in a folder `until-<iterations>` that is a run, and writes the configuration.

    They move before the configuration changes: after a kill the run is the old one, which `--resume` finishes again, or the new one.

    Args:
        folder: The `RunFolder`.
        config: What `extended` returned.

    Raises:
        UserError: The folder cannot be written.
    """
    aside = folder.path / f"until-{config.training.extensions[-1]}"
    with folder.alone(), writing(folder.path):
        aside.mkdir(exist_ok=True)
        for path in (path for path in (folder.config, folder.data, folder.metrics) if path.exists()):
            write_text(aside / path.name, path.read_text(encoding="utf-8"))
        results = [*folder.path.glob("evaluation*"), *folder.path.glob("a[cu][td]*"), folder.figure, folder.model]
        for path in (path for path in results if path.is_file()):
            os.replace(path, aside / path.name)
        write_text(folder.config, config.to_yaml())
