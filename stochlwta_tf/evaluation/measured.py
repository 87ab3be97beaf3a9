"""The measures of a test: each with its interval over tasks, its median, and the number of tasks that diverged."""

from collections.abc import Iterable
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


class Tested(NamedTuple):
    """What is kept of a test: numbers of each task, and the predictions of the first batch alone.

    Attributes:
        measures: `{name: Measured}`.
        tasks: How many tasks.
        seconds: Time of adapting and predicting, of each batch.
        first: The `Predictions` of the first batch.
    """

    measures: dict[str, Measured]
    tasks: int
    seconds: np.ndarray
    first: Predictions


def tested(batches: Iterable[Predictions], rules: Rules | None = None) -> Tested:
    """The measures of a test whose predictions come one batch after another, and are not kept.

    Args:
        batches: `Predictions`, as `in_batches` yields them.
        rules: Of a classification, the `Rules` by which its tasks are scored; None for a regression.

    Raises:
        NonFiniteError: Half of the tasks or more diverged.

    Example:

    >>> tested(in_batches(learner, tasks, 600), tasks.rules).measures["accuracy"]
    """
    first, seconds, parts = None, [], []
    for predictions in batches:
        first = predictions if first is None else first
        seconds.append(predictions.seconds)
        parts.append(_numbers(predictions) if rules is None else _classes(predictions, rules))
    assert first is not None, "a test has a batch or more"
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    tasks = len(columns["diverged"])
    measures = _regression(columns) if rules is None else _classification(columns, first.query_y.shape[1])
    return Tested(measures, tasks, np.concatenate(seconds), first)


def measures_of(predictions: Predictions, rules: Rules | None = None) -> dict[str, Measured]:
    """The measures of a test: `{name: Measured}`; arguments and errors as `tested`, of the predictions of all tasks."""
    return tested([predictions], rules).measures


def _classes(predictions: Predictions, rules: Rules) -> dict[str, np.ndarray]:
    """Of each task of a classification: whether it diverged, its measures, and its share of the calibration error."""
    diverged = metrics.diverged(predictions.draws)
    # The numbers of a diverged task are not used, and must only be finite.
    p = np.where(diverged[:, None, None], 1.0, predictions.mean).astype(predictions.mean.dtype)
    y = predictions.query_y
    return {"diverged": diverged, "gaps": metrics.calibration_gaps(p, y), **metrics.of_classes(p, y, rules)}


def _classification(columns: dict[str, np.ndarray], queries: int) -> dict[str, Measured]:
    diverged, gaps = columns.pop("diverged"), columns.pop("gaps")
    check(diverged)
    error, half = metrics.calibration_error_of(gaps[~diverged], queries)
    ece = Measured(100 * error, 100 * half, MEASURES["ece"].unit, diverged=int(diverged.sum()))
    return {**_of_all(columns, diverged), "ece": ece}


def _numbers(predictions: Predictions) -> dict[str, np.ndarray]:
    """Of each task of a regression: whether it diverged, mean and variance of its targets, and its measures."""
    y, noise_std = predictions.query_y, predictions.noise_std
    assert noise_std is not None, "predictions of a regression have an observation std"
    diverged = metrics.diverged(predictions.draws)
    unused = diverged[:, None, None, None]
    if isinstance(noise_std, np.ndarray):
        noise_std = np.where(unused, 1.0, noise_std).astype(noise_std.dtype)
    with np.errstate(over="ignore", invalid="ignore"):
        values = metrics.of_numbers(np.where(unused, 0.0, predictions.draws).astype(predictions.draws.dtype), y, noise_std)
    targets = np.asarray(y, "float64").reshape(len(y), -1)
    return {"diverged": diverged, "target_mean": targets.mean(1), "target_variance": targets.var(1), **values}


def _regression(columns: dict[str, np.ndarray]) -> dict[str, Measured]:
    # The variance of all targets is the mean variance within a task plus the variance of the tasks' means.
    variance = float(np.mean(columns.pop("target_variance")) + np.var(columns.pop("target_mean")))
    diverged = columns.pop("diverged") | metrics.absurd(columns["mse"], variance)
    check(diverged)
    return _of_all(columns, diverged)


def _of_all(columns: dict[str, np.ndarray], diverged: np.ndarray) -> dict[str, Measured]:
    return per_task_measures({name: values[~diverged] for name, values in columns.items()}, diverged)


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
