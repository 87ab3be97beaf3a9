"""Keras's optimizers and learning-rate schedules by name, with their options checked."""

import functools
import inspect
import re

from stochlwta_tf.config.schema import unknown
from stochlwta_tf.errors import ConfigurationError

# Keys of the section that set these, and what a training does itself or cannot do: accumulated gradients would count fewer iterations than
# there are, averages of weights would be lost by a resume, and the meta-gradient would be divided by a scale that the loss does not have.
_OPTIMIZER_GIVEN = {
    *("self", "learning_rate", "name", "clipnorm", "clipvalue", "global_clipnorm", "kwargs"),
    *("gradient_accumulation_steps", "use_ema", "ema_momentum", "ema_overwrite_frequency", "loss_scale_factor"),
}
_SCHEDULE_GIVEN = {"self", "initial_learning_rate", "end_learning_rate", "name"}
_NOT_ALONE = {"lossscaleoptimizer", "optimizer"}  # a wrapper, and the base
#: Schedules that need no more than the keys of the section.
SIMPLE = ("constant", "linear")


@functools.cache  # a page of results loads hundreds of configurations
def optimizers():
    """The optimizer classes by name in lower case, `adamw`, `sgd`, ….

    Example:

    >>> optimizers()["adam"].__name__
    'Adam'
    """
    import keras

    found = {name.lower(): value for name, value in vars(keras.optimizers).items() if _is_subclass(value, keras.optimizers.Optimizer)}
    return {name: found[name] for name in sorted(found) if name not in _NOT_ALONE}


@functools.cache
def schedules():
    """The schedule classes by name in lower case, `cosine_decay`, `exponential_decay`, ….

    Example:

    >>> "cosine_decay" in schedules()
    True
    """
    import keras

    of = keras.optimizers.schedules
    found = {_snake(name): value for name, value in vars(of).items() if _is_subclass(value, of.LearningRateSchedule)}
    return {name: found[name] for name in sorted(found) if name != "learning_rate_schedule"}


def problem(optimizer):
    """What is wrong with a section `optimizer`, in one line; None if nothing is.

    The values of options are checked when it is built, because a Keras optimizer starts TensorFlow.

    Args:
        optimizer: An `Optimizer`, whose keys have the right types.
    """
    if optimizer.name not in optimizers():
        return unknown("value", f"optimizer.name={optimizer.name!r}", optimizer.name, optimizers())
    if optimizer.schedule not in (*SIMPLE, *schedules()):
        return unknown("value", f"optimizer.schedule={optimizer.schedule!r}", optimizer.schedule, (*SIMPLE, *schedules()))
    if optimizer.schedule in SIMPLE and optimizer.schedule_arguments:
        return f"optimizer.schedule_arguments must be empty for schedule={optimizer.schedule}. Received: {optimizer.schedule_arguments}."
    wrong = _unknown_option("optimizer.arguments", optimizer.arguments, optimizers()[optimizer.name], _OPTIMIZER_GIVEN)
    if wrong is None and optimizer.schedule not in SIMPLE:
        wrong = _unknown_option(
            "optimizer.schedule_arguments", optimizer.schedule_arguments, schedules()[optimizer.schedule], _SCHEDULE_GIVEN
        )
    return wrong


def build(optimizer, iterations, start=0):
    """The Keras optimizer of a section `optimizer`, for a training of the given number of iterations.

    Schedules are as long as the training unless `schedule_arguments` has `decay_steps`.

    Args:
        optimizer: An `Optimizer`.
        iterations: Of the training.
        start: The iteration at which the schedule begins.

    Raises:
        ConfigurationError: A value that Keras does not accept.
    """
    import keras

    from stochlwta_tf.learners.restarted_schedule import RestartedSchedule

    rate = optimizer.learning_rate
    try:
        if optimizer.schedule == "linear":
            rate = keras.optimizers.schedules.PolynomialDecay(rate, iterations - start, optimizer.end_learning_rate)
        elif optimizer.schedule != "constant":
            rate = _schedule(optimizer, rate, iterations - start)
        if start and optimizer.schedule != "constant":
            rate = RestartedSchedule(rate, start)
        kind = optimizers()[optimizer.name]
        return kind(rate, clipnorm=optimizer.clip_norm, clipvalue=optimizer.clip_value, **optimizer.arguments)
    except Exception as error:  # Keras checks values here and there, and raises whatever it likes
        why = " ".join((str(error).strip() or type(error).__name__).split())[:300]
        given = {**optimizer.arguments, **optimizer.schedule_arguments}
        raise ConfigurationError(f"optimizer: {optimizer.name}, {optimizer.schedule}: not possible: {why}. Received: {given}.") from error


def _schedule(optimizer, rate, iterations):
    kind = schedules()[optimizer.schedule]
    accepted = inspect.signature(kind.__init__).parameters
    given = {"initial_learning_rate": rate, "decay_steps": iterations, "first_decay_steps": iterations}
    given["end_learning_rate"] = optimizer.end_learning_rate
    return kind(**{**{key: value for key, value in given.items() if key in accepted}, **optimizer.schedule_arguments})


def _unknown_option(key, options, kind, given):
    allowed = [name for name in inspect.signature(kind.__init__).parameters if name not in given]
    return next((unknown("key", f"{key}.{name}", name, allowed) for name in options if name not in allowed), None)


def _is_subclass(value, of):
    return isinstance(value, type) and issubclass(value, of)


def _snake(name):
    return re.sub(r"(?<=[a-z])(?=[A-Z])", "_", name).lower()
