"""What a test of a trained run is based on: the configurations of the run and of the test, and the classes that were trained on."""

from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.training import build, data_record

_ALLOWED = ("evaluation", "active_learning", "task", "runtime")


def configured(folder, assignments, tasks=None):
    """A trained run's own `Configuration`, and that of a test of it.

    Args:
        folder: The `RunFolder`.
        assignments: `key=value` settings.
        tasks: Number of test tasks, as text; the configuration's own by default.

    Raises:
        UserError: There is no trained run.
        ConfigurationError: A setting does not apply to a test, or is invalid.
    """
    folder.check_trained()
    for assignment in assignments:
        if assignment.partition("=")[0].partition(".")[0] not in _ALLOWED:
            what = f"the sections {', '.join(_ALLOWED)} (as in task.shot=5)"
            raise ConfigurationError(f"--set can change {what} of a trained run. Received: {assignment}.")
    run = configuration.load(folder.config)
    config = configuration.load(folder.config, [*assignments, *([f"evaluation.tasks={tasks}"] if tasks is not None else [])])
    if config.protocol != run.protocol:
        raise ConfigurationError(f"use --protocol to test under another protocol. Received: --set task.protocol={config.protocol}.")
    if config.runtime.precision != run.runtime.precision:
        raise ConfigurationError(
            f"runtime.precision is a part of the trained model: {run.runtime.precision}. Received: {config.runtime.precision}."
        )
    return run, config


def trained_on(folder, run, config):
    """What a run and its initial weights were trained on, and is to be tested on: as recorded, or else derived from the current data.

    Args:
        folder: The `RunFolder`.
        run: The run's own `Configuration`, whose splits count, whatever a test overrides.
        config: The test's, which says where the data is now.

    Returns:
        A `data_record.TrainedOn`.
    """
    found = _on_own_data(folder, run, config)
    if run.training.initial_weights is None:
        return found
    earlier = build.saved_learner(folder.model).trained_on.get("classes", ())  # those of its initial weights too, which no record has
    return found._replace(classes=tuple(dict.fromkeys((*found.classes, *earlier))))


def _on_own_data(folder, run, config):
    record = data_record.read(folder.data)
    if record is not None:
        return data_record.trained_on(record, run, config)
    values = run.resolved()
    if run.task.name == config.task.name and "data_dir" in values["task"]:
        values["task"]["data_dir"] = config.resolved()["task"]["data_dir"]
    names = build.class_names(build.tasks(configuration.from_dict(values, where="the run"), "train"))
    if names:
        data_record.unknown(folder.data)
    return data_record.TrainedOn(names)
