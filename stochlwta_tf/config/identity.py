"""The identity of an experiment: the settings that two repetitions of one training, run, test or timing share."""

from stochlwta_tf.config import places

_LEARNER_PLACE = ("batch_statistics", "runner", "parallel_tasks")  # its own column group; how tasks are computed, not what


def training(config):
    """The settings that repetitions of one training share, as plain values.

    Excluded are name, seed, number of iterations, what is recorded and kept, threads and device, protocol and batch statistics; not the
    weights that it starts from.
    """
    values = config.resolved()
    return {
        "task": _task(values["task"]),
        "network": values["network"],
        "learner": _learner(values["learner"]),
        "optimizer": values["optimizer"],
        "training": {key: values["training"][key] for key in ("meta_batch_size", "initial_weights", "extensions")},
        "precision": values["runtime"]["precision"],
    }


def run(config):
    """The settings that repetitions of one run share, as plain values: the training, the protocol and the kind of batch statistics."""
    return {**training(config), "task.protocol": config.protocol, "learner.batch_statistics": config.learner.batch_statistics}


def test(config):
    """The settings that repetitions of one test on the same tasks share, as plain values.

    Args:
        config: The test's `Configuration`, whose `evaluation` may have options of the learner.
    """
    values = config.resolved()
    learner = {**values["learner"], **config.evaluation.overrides()}
    return {"task": _task(values["task"]), "evaluation": {**_learner(learner), "seed": config.evaluation.seed}}


def timed(config):
    """The settings that repetitions of one timing share, as plain values: the training, and how its tasks are computed."""
    values, at_once = config.resolved(), ("steps_per_execution", "jit_compile", "micro_batch")
    return {**training(config), "learner": values["learner"], **{key: values["training"][key] for key in at_once}}


def _task(values):
    return {key: value for key, value in places.unplaced(values).items() if key != "protocol"}  # it has its own column group


def _learner(values):
    return {key: value for key, value in values.items() if key not in _LEARNER_PLACE}


def difference(old, new):
    """The first key whose value differs between two resolved configurations, as (dotted key, old value, new value), or None."""
    for key in {**old, **new}:
        a, b = old.get(key), new.get(key)
        if a == b and key in old and key in new:
            continue
        if isinstance(a, dict) and isinstance(b, dict):
            inner, *pair = difference(a, b)
            return f"{key}.{inner}", *pair
        return key, a, b
    return None
