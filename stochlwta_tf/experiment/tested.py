"""The test of a trained run: what may be set otherwise in it, and what a result says of it beside the numbers."""

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.experiment import build, data_record
from stochlwta_tf.experiment import config as configuration
from stochlwta_tf.experiment.run_folder import command, device_name

_ALLOWED = ("evaluation", "active_learning", "task", "runtime")


def configured(folder, assignments, tasks=None):
    """A trained run's own `Configuration`, and that of a test of it.

    Args:
        folder: The `RunFolder`.
        assignments: `key=value` settings.
        tasks: Number of test tasks, as text; the configuration's own by default.

    Raises:
        UserError: There is no trained run.
        ConfigurationError: A setting is not one of a test, or not valid.
    """
    folder.check_trained()
    for assignment in assignments:
        if assignment.partition("=")[0].partition(".")[0] not in _ALLOWED:
            raise ConfigurationError(f"--set can change {', '.join(_ALLOWED)} of a trained run. Received: {assignment}.")
    run = configuration.load(folder.config)
    config = configuration.load(folder.config, [*assignments, *([f"evaluation.tasks={tasks}"] if tasks is not None else [])])
    if config.protocol != run.protocol:
        raise ConfigurationError(f"use --protocol to test under another protocol. Received: --set task.protocol={config.protocol}.")
    return run, config


def trained_on(folder, run, config):
    """What a run was trained on, and is to be tested on: as it recorded, else worked out from the data as it is now, which is said.

    Args:
        folder: The `RunFolder`.
        run: The run's own `Configuration`, whose splits count, whatever a test has set otherwise.
        config: The test's, which says where the data lies now.

    Returns:
        A `data_record.TrainedOn`.
    """
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


def described(config, learner):
    """Under what protocol, how trained and how tested, as the entries of a result's file.

    Args:
        config: The run's `Configuration`.
        learner: The tested `MetaLearner`.
    """
    from stochlwta_tf.layers import BatchNormalization

    resolved = config.resolved()
    options = {key: value for key, value in learner.get_config().items() if key in resolved["learner"] and key != "name"}
    normalized = any(isinstance(layer, BatchNormalization) for layer in learner.network.layers)
    return {
        "protocol": config.protocol,
        "batch_statistics": learner.batch_statistics if normalized else None,
        "iterations": config.training.iterations,
        "seed": config.seed,
        "task": resolved["task"],
        "learner": {"name": config.learner.name, **options},
        "inner_steps": learner.steps_at_test,
        "draws": learner.draws,
        "device": device_name(),
        "command": command(),
    }
