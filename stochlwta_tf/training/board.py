"""What TensorBoard's page of hyperparameters shows of a run: its settings, and the measures of its test."""

import tensorflow as tf

from stochlwta_tf.training.run_folder import writing

_SECTIONS = ("task", "network", "learner", "optimizer", "training")
_TEST = ".test"  # ending of the file that has the test's measures


def hyperparameters(config):
    """The settings of a run as `{"learner.inner_lr": 0.4, …}`, in the types that TensorBoard knows."""
    values = config.resolved()
    pairs = {f"{section}.{key}": value for section in _SECTIONS for key, value in values[section].items()}
    return {
        key: value if isinstance(value, (bool, int, float, str)) else str(value) for key, value in {"seed": config.seed, **pairs}.items()
    }


def write_hyperparameters(config, name):
    """Writes the settings to the summary writer in use.

    Args:
        config: The run's `Configuration`.
        name: Of the run.
    """
    from tensorboard.plugins.hparams import api

    api.hparams(hyperparameters(config), trial_id=name)


def write_test(folder, result):
    """Writes the measures of a run's test beside the training's numbers, where there are any: `test/accuracy`, ….

    Args:
        folder: The `RunFolder`.
        result: What `evaluation.json` holds.

    Raises:
        UserError: The folder cannot be written.
    """
    if not folder.tensorboard.is_dir():
        return
    with writing(folder.tensorboard):
        for old in folder.tensorboard.glob(f"events.*{_TEST}"):
            old.unlink()
        writer = tf.summary.create_file_writer(str(folder.tensorboard), filename_suffix=_TEST)
        with writer.as_default(step=result["iterations"]):
            for name, row in result["measures"].items():
                tf.summary.scalar(f"test/{name}", row["value"])
        writer.close()
