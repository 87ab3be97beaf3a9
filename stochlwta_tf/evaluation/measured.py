"""The measures of a test: each with its interval over tasks, its median, and the number of tasks that diverged."""

from typing import Any, NamedTuple

import numpy as np

from stochlwta_tf import intervals, metrics
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.evaluation.predictions import Predictions
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.tasks.protocols import Rules

RULE = (
    "a task has diverged if its predictions or their squares are not finite, or its squared error is over "
    f"{metrics.ABSURD} times the variance of all targets; means exclude diverged tasks, medians rank them as the worst"
)


class Measured(NamedTuple):
    """A measure of a test.

    Attributes:
        value: Mean over the tasks that did not diverge.
        ci95: Half the width of its 95 % interval over them.
        unit: `"%"`, `"nats"` or `""`.
        median: Over all tasks, a diverged one as the worst; None if the measure has no value per task.
        diverged: How many tasks diverged.
        each: The measure of each task, NaN where it diverged; None if it has no value per task.
    """

    value: float
    ci95: float
    unit: str
    median: float | None = None
    diverged: int = 0
    each: np.ndarray | None = None

    def row(self) -> dict[str, Any]:
        """The entry in a result's file."""
        row = {"value": self.value, "ci95": self.ci95, "unit": self.unit}
        if self.median is not None:
            row["median"] = self.median
        return {**row, "diverged": self.diverged} if self.diverged else row


def per_task(measured: Measured) -> list[float | None]:
    """A measure of each task to five significant digits, None where it diverged: what a paired comparison needs."""
    assert measured.each is not None, "the measure is not one of each task"
    return [float(f"{value:.5g}") if np.isfinite(value) else None for value in measured.each]


def measures_of(predictions: Predictions, rules: Rules | None = None) -> dict[str, Measured]:
    """The measures of a test: `{name: Measured}`.

    Args:
        predictions: `Predictions`.
        rules: Of a classification, the `Rules` by which its tasks are scored; None for a regression.

    Raises:
        NonFiniteError: Half of the tasks or more diverged.
    """
    return regression(predictions) if rules is None else classification(predictions, rules)


def classification(predictions: Predictions, rules: Rules) -> dict[str, Measured]:
    """The measures of a classification test, as `measures_of`; the calibration error is of all tasks together."""
    diverged = metrics.diverged(predictions.draws)
    check(diverged)
    p, y = predictions.mean[~diverged], predictions.query_y[~diverged]
    error, half = metrics.calibration_error(p, y)
    ece = Measured(100 * error, 100 * half, MEASURES["ece"].unit, diverged=int(diverged.sum()))
    return {**per_task_measures(metrics.of_classes(p, y, rules), diverged), "ece": ece}


def regression(predictions: Predictions) -> dict[str, Measured]:
    """The measures of a regression test, as `measures_of`."""
    y, noise_std = predictions.query_y, predictions.noise_std
    assert noise_std is not None, "predictions of a regression have an observation std"
    with np.errstate(over="ignore", invalid="ignore"):
        diverged = metrics.diverged(predictions.draws, metrics.squared_error(predictions.draws, y), y)
    check(diverged)
    if isinstance(noise_std, np.ndarray):
        noise_std = noise_std[~diverged]
    return per_task_measures(metrics.of_numbers(predictions.draws[~diverged], y[~diverged], noise_std), diverged)


def per_task_measures(values: dict[str, np.ndarray], diverged: np.ndarray) -> dict[str, Measured]:
    """Measures `{name: Measured}` from their values of each task that did not diverge."""
    found = {}
    for name, of_tasks in values.items():
        each = np.full(len(diverged), np.nan)
        each[~diverged] = of_tasks
        median = intervals.median_and_ci95(np.where(diverged, MEASURES[name].worst, each))[0]
        found[name] = Measured(*intervals.mean_and_ci95(of_tasks), MEASURES[name].unit, median, int(diverged.sum()), each)
    return found


def check(diverged: np.ndarray) -> None:
    """Raises NonFiniteError where half or more of the tasks diverged: `diverged` is `[tasks]`."""
    if 2 * diverged.sum() >= len(diverged) or len(diverged) - diverged.sum() < 2:
        raise NonFiniteError(
            f"{diverged.sum()} of {len(diverged)} test tasks diverged, first task {np.argmax(diverged)}, so there is no median: "
            "evaluation.inner_clip_norm bounds the inner steps."
        )
