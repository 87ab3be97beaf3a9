"""Budgets of a suite's runs: minutes or meta-iterations for each run."""

import math
import re
from typing import NamedTuple

from stochlwta_tf.errors import ConfigurationError

_VALIDATIONS = 2  # in a run that validates and is shorter than its configuration says: more would cost more than a short training
_ROWS = 10  # of `metrics.csv`: where whole ones are fewer, more of them, so that rounding loses a tenth of the budget at most


class Budget(NamedTuple):
    """Minutes or iterations, one of the two None.

    Example:

    >>> Budget.parse("10m").iterations_at(0.02)
    30000
    """

    minutes: float | None
    iterations: int | None

    @classmethod
    def parse(cls, text):
        """From `10m`, `0.5h` or `500it`.

        Raises:
            ConfigurationError: The text has another form.
        """
        found = re.fullmatch(r"(\d+(?:\.\d+)?)(m|h|it)", text)
        number = float(found[1]) if found else 0
        if not number or math.isinf(number) or (found[2] == "it" and number != int(number)):
            raise ConfigurationError(f"--budget must be minutes, hours or iterations, such as 10m, 0.5h or 500it. Received: {text!r}.")
        return cls(None, int(number)) if found[2] == "it" else cls(number * {"m": 1, "h": 60}[found[2]], None)

    def iterations_at(self, seconds_per_iteration):
        """The number of iterations that fit into the budget."""
        return self.iterations or max(1, int(60 * self.minutes / seconds_per_iteration))


def assignments(config, iterations):
    """The `key=value` settings that give a training about this many iterations.

    Linear schedules then still end at their final value, because they follow `training.iterations`.  It is rounded down to a multiple of
    `training.log_every`, which is lowered where the run would have fewer than ten rows.  A run that validates does so as
    often as its configuration says, at the least halfway and at its end.

    Args:
        config: The run's `Configuration`.
        iterations: Upper limit, except that one execution of `training.steps_per_execution` always runs.
    """
    training = config.training
    steps, log_every = training.steps_per_execution, training.log_every
    if iterations % log_every and iterations < _ROWS * log_every:
        log_every = max(steps, iterations // _ROWS // steps * steps)
    rounded = max(log_every, iterations // log_every * log_every)
    settings = {"iterations": rounded}
    if log_every != training.log_every:
        settings["log_every"] = log_every
    if training.validate_every:
        often = math.ceil(rounded / _VALIDATIONS / log_every) * log_every
        if often < training.validate_every or training.validate_every % log_every:
            settings["validate_every"] = often
    return [f"training.{key}={value}" for key, value in settings.items()]
