"""What makes two trainings, runs, tests or timings repetitions of one."""

_TASK_PLACE = ("data_dir", "protocol")  # where the data lies; the protocol has a column group of its own
_LEARNER_PLACE = ("batch_statistics", "runner", "parallel_tasks")  # a column group of its own; how tasks are computed, not what


def training(config):
    """What makes two trainings repetitions of one, as plain values.

    Left out are name, seed, number of iterations, what is recorded and kept, threads and device, protocol and batch statistics.
    """
    values = config.resolved()
    return {
        "task": _task(values["task"]),
        "network": values["network"],
        "learner": _learner(values["learner"]),
        "optimizer": values["optimizer"],
        "training": {"batch": values["training"]["batch"]},
    }


def run(config):
    """What makes two runs repetitions of one, as plain values: the training, under one protocol and with one kind of batch statistics."""
    return {**training(config), "task.protocol": config.protocol, "learner.batch_statistics": config.learner.batch_statistics}


def test(config):
    """What makes two tests repetitions of one, on the same tasks, as plain values.

    Args:
        config: The test's `Configuration`, whose `evaluation` may have options of the learner.
    """
    values = config.resolved()
    learner = {**values["learner"], **config.evaluation.overrides()}
    return {"task": _task(values["task"]), "evaluation": {**_learner(learner), "seed": config.evaluation.seed}}


def timed(config):
    """What makes two timings repetitions of one, as plain values: the training, and how its tasks are computed."""
    values = config.resolved()
    return {**training(config), "learner": values["learner"], "steps_per_execution": config.training.steps_per_execution}


def _task(values):
    return {key: value for key, value in values.items() if key not in _TASK_PLACE}


def _learner(values):
    return {key: value for key, value in values.items() if key not in _LEARNER_PLACE}
