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
    """The measures of a classification test under a protocol's `Rules`: `{name: Measured}`.

    Raises:
        NonFiniteError: More than half of the tasks diverged.
    """
    diverged = metrics.diverged(predictions.draws)
    check(diverged)
    p, y = predictions.mean[~diverged], predictions.query_y[~diverged]
    error, half = metrics.calibration_error(p, y)
    return {
        "accuracy": _measured("accuracy", 100 * metrics.accuracy_under(rules, p, y), diverged, worst=-np.inf),
        "nll": _measured("nll", metrics.categorical_nll(p, y), diverged),
        "brier": _measured("brier", metrics.brier(p, y), diverged),
        "ece": Measured(100 * error, 100 * half, MEASURES["ece"].unit, diverged=int(diverged.sum())),
    }


def regression(predictions: Predictions) -> dict[str, Measured]:
    """The measures of a regression test, as `classification`."""
    y, noise_std = predictions.query_y, predictions.noise_std
    assert noise_std is not None, "predictions of a regression have an observation std"
    diverged = metrics.diverged(predictions.draws, squared_errors(predictions), y)
    check(diverged)
    draws, y = predictions.draws[~diverged], y[~diverged]
    learned = {}
    if isinstance(noise_std, np.ndarray):
        noise_std = noise_std[~diverged]
        learned = {"noise_std": _measured("noise_std", np.mean(noise_std, (1, 2, 3)), diverged)}
    return {
        "mse": _measured("mse", metrics.squared_error(draws, y), diverged),
        "nll": _measured("nll", metrics.mixture_nll(draws, y, noise_std), diverged),
        "coverage90": _measured("coverage90", 100 * metrics.coverage(draws, y, noise_std), diverged, worst=-np.inf),
        **learned,
    }


def squared_errors(predictions: Predictions) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        return metrics.squared_error(predictions.draws, predictions.query_y)


def _measured(name: str, values: np.ndarray, diverged: np.ndarray, worst: float = np.inf) -> Measured:
    each = np.full(len(diverged), np.nan)
    each[~diverged] = values
    median = intervals.median_and_ci95(np.where(diverged, worst, each))[0]
    return Measured(*intervals.mean_and_ci95(values), MEASURES[name].unit, median, int(diverged.sum()), each)


def check(diverged: np.ndarray) -> None:
    """Raises NonFiniteError where half or more of the tasks diverged: `diverged` is `[tasks]`."""
    if 2 * diverged.sum() >= len(diverged) or len(diverged) - diverged.sum() < 2:
        raise NonFiniteError(
            f"{diverged.sum()} of {len(diverged)} test tasks diverged, first task {np.argmax(diverged)}, so there is no median: "
            "evaluation.inner_clip_norm bounds the inner steps."
        )
