"""Measures of predictions; NumPy and SciPy only.

A task's measure is a mean over its queries; a result is the mean over test tasks with a 95 % interval over tasks (`intervals.py`).
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from scipy import special, stats

from stochlwta_tf.intervals import t95

if TYPE_CHECKING:
    from stochlwta_tf.tasks.protocols import Rules

_SMALLEST = float(np.finfo("float32").tiny)  # probabilities are float32; below this they are zero, whose log is infinite
BINS = 15  # of the expected calibration error


def accuracy(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Fraction of the queries whose most probable class is their label, for each task.

    Args:
        probabilities: `[tasks, queries, classes]`.
        labels: Integers `[tasks, queries]`.

    Raises:
        ValueError: The arrays do not fit each other.
    """
    _check_classes(probabilities, labels)
    return np.mean(np.argmax(probabilities, -1) == labels, -1)


def accuracy_across_queries(probabilities: np.ndarray) -> np.ndarray:
    """Fraction of the classes whose most probable query is theirs, for each task: how the paper's published code scores.

    Each class picks its best query (argmax over axis 0 of `[queries, classes]`), where the usual accuracy lets queries pick classes.
    Queries compete, and a network that knows that there is one of each class beats chance even where it confuses them.

    Args:
        probabilities: `[tasks, N, N]`; query i is of class i.
    """
    return np.mean(np.argmax(probabilities, -2) == np.arange(probabilities.shape[-1]), -1)


def accuracy_under(rules: "Rules", probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """`accuracy`, or `accuracy_across_queries` where a protocol's `Rules` say so."""
    return accuracy_across_queries(probabilities) if rules.across_queries else accuracy(probabilities, labels)


def categorical_nll(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """−log p(label), mean over queries, for each task; arguments as `accuracy`."""
    _check_classes(probabilities, labels)
    p = np.take_along_axis(np.asarray(probabilities, "float64"), labels[..., None], -1)[..., 0]
    return -np.mean(np.log(np.maximum(p, _SMALLEST)), -1)


def entropy(probabilities: np.ndarray) -> np.ndarray:
    """−sum_c p_c log p_c over the last axis, in nats, of probabilities `[..., classes]`.

    Example:

    >>> entropy(np.array([0.5, 0.5])).round(4)  # log 2
    np.float64(0.6931)
    """
    return -np.sum(probabilities * np.log(np.maximum(probabilities, _SMALLEST)), -1)


def brier(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Squared distance of the probabilities from the label's one-hot vector: summed over classes, mean over queries, for each task."""
    _check_classes(probabilities, labels)
    one_hot = np.eye(probabilities.shape[-1])[labels]
    return np.mean(np.sum(np.square(probabilities - one_hot), -1), -1)


def bin_of(top: np.ndarray) -> np.ndarray:
    """Number of the bin of each top probability: (0, 1/15] is 0, (1/15, 2/15] is 1, …"""
    return np.clip(np.ceil(top * BINS).astype(int) - 1, 0, BINS - 1)


def calibration_gaps(probabilities: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """The sum of (correct − top probability) over a task's queries in each of 15 equal-width bins of the top probability.

    Args:
        probabilities, labels: As `accuracy`.

    Returns:
        `[tasks, bins]`, what `calibration_error` is made of.
    """
    _check_classes(probabilities, labels)
    top, correct = probabilities.max(-1), np.argmax(probabilities, -1) == labels
    return np.sum(np.where(bin_of(top)[..., None] == np.arange(BINS), (correct - top)[..., None], 0.0), 1)


def calibration_error(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Expected calibration error over all queries of all tasks, with half the width of its 95 % interval.

    With 15 equal-width bins b of the top probability, ECE = sum_b |sum of (correct − top probability) in b| / number of queries.  A task
    alone has too few queries for the bins, so the error is of all tasks together; its interval is the jackknife's over tasks.

    Args:
        probabilities, labels: As `accuracy`.

    Returns:
        ECE, half interval.
    """
    return calibration_error_of(calibration_gaps(probabilities, labels), labels.shape[1])


def calibration_error_of(gaps: np.ndarray, queries: int) -> tuple[float, float]:
    """`calibration_error` from the `calibration_gaps` of the tasks, and the number of queries of each."""
    tasks = len(gaps)
    if tasks < 2:
        raise ValueError(f"The interval of a calibration error needs 2 tasks or more. Received: {tasks}")
    error = np.abs(gaps.sum(0)).sum() / (tasks * queries)
    without = np.abs(gaps.sum(0) - gaps).sum(-1) / (queries * (tasks - 1))
    return float(error), float(t95(tasks - 1) * np.sqrt((tasks - 1) * np.var(without)))


def selective_accuracy(probabilities: np.ndarray, labels: np.ndarray, coverage: float) -> np.ndarray:
    """Accuracy on the fraction `coverage` of the queries with the least entropy, for each task; arguments as `accuracy`.

    Example:

    >>> selective_accuracy(np.array([[[0.9, 0.1], [0.4, 0.6]]]), np.array([[0, 0]]), 0.5)
    array([1.])
    """
    _check_classes(probabilities, labels)
    kept = max(1, round(coverage * labels.shape[1]))
    surest = np.argsort(entropy(np.asarray(probabilities, "float64")), axis=1, kind="stable")[:, :kept]
    return np.mean(np.take_along_axis(np.argmax(probabilities, -1) == labels, surest, 1), 1)


def auroc(scores: np.ndarray, positive: np.ndarray) -> np.ndarray:
    """The probability that a positive query has a larger score than a negative one, ties counted half, for each task.

    That is the Mann–Whitney statistic, and the area under the ROC curve.

    Args:
        scores: `[tasks, queries]`; a task with a NaN has NaN.
        positive: Booleans of the same shape, of both kinds in each task.

    Example:

    >>> auroc(np.array([[0.1, 0.4, 0.3]]), np.array([[False, True, False]]))
    array([1.])
    """
    ranks, ones = stats.rankdata(scores, axis=1), positive.sum(1)
    return (np.sum(ranks * positive, 1) - ones * (ones + 1) / 2) / (ones * (positive.shape[1] - ones))


def squared_error(draws: np.ndarray, targets: np.ndarray) -> np.ndarray:
    """(y − mean over draws)², mean over queries, for each task.

    Args:
        draws: Predicted means `[tasks, B, queries, outputs]`.
        targets: `[tasks, queries, outputs]`.
    """
    _check_numbers(draws, targets)
    return np.mean(np.square(draws.mean(1) - targets), (-2, -1))


def mixture_nll(draws: np.ndarray, targets: np.ndarray, noise_std: float | np.ndarray) -> np.ndarray:
    """−log (1/B) sum_b N(y; f_b, noise_std²), mean over queries, for each task; arguments as `squared_error`.

    Here and below `noise_std` is a number, or an array that broadcasts to `draws`.
    """
    _check_numbers(draws, targets, noise_std)
    z = (np.asarray(targets, "float64")[:, None] - draws) / noise_std
    log_p = np.sum(-0.5 * np.square(z) - np.log(noise_std * np.sqrt(2 * np.pi)), -1)
    largest = log_p.max(1, keepdims=True)
    return -np.mean(largest[:, 0] + np.log(np.mean(np.exp(log_p - largest), 1)), -1)


def mixture_cdf(y: np.ndarray, draws: np.ndarray, noise_std: float | np.ndarray) -> np.ndarray:
    """P(Y ≤ y) under (1/B) sum_b N(f_b, noise_std²); `draws` has its B axis before the last two, the axes of `y`."""
    z = np.asarray((draws - y[..., None, :, :]) / (noise_std * math.sqrt(2.0)), "float64")
    return np.mean(0.5 * special.erfc(z), -3)


def coverage(draws: np.ndarray, targets: np.ndarray, noise_std: float | np.ndarray, mass: float = 0.9) -> np.ndarray:
    """Fraction of the queries inside the central band of that mass of the predictive mixture, for each task; arguments as `squared_error`.

    The mixture contains the observation noise.  A calibrated predictor therefore covers `mass` of *noisy* targets; of noise-free ones, such
    as the sinusoids' test curves, it covers more, up to all of them where the noise is most of the band.
    """
    _check_numbers(draws, targets, noise_std)
    return np.mean(np.abs(mixture_cdf(targets, draws, noise_std) - 0.5) <= mass / 2, (-2, -1))


def mixture_band(draws: np.ndarray, noise_std: float | np.ndarray, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper edge of the central band that `coverage` uses, by bisection; arguments as `mixture_cdf`."""
    low, high = (_mixture_quantile(0.5 + sign * mass / 2, draws, noise_std) for sign in (-1, 1))
    return low, high


def _mixture_quantile(probability: float, draws: np.ndarray, noise_std: float | np.ndarray) -> np.ndarray:
    reach = 10.0 * np.max(noise_std)
    low, high = draws.min(-3) - reach, draws.max(-3) + reach
    for _ in range(60):
        middle = (low + high) / 2
        below = mixture_cdf(middle, draws, noise_std) < probability
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return (low + high) / 2


ABSURD = 100  # times the variance of all targets


def diverged(draws: np.ndarray, errors: np.ndarray | None = None, targets: np.ndarray | None = None) -> np.ndarray:
    """Which tasks diverged in their inner steps, `[tasks]`.

    A task has diverged if its outputs, or their squares, are not finite; in regression also if its squared error is over 100 times the
    variance of the targets of all tasks, which is the error of the best constant prediction.

    Args:
        draws: The network's outputs `[tasks, ...]`.
        errors: `squared_error` of each task, in regression.
        targets: Of all tasks, in regression.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        infinite = ~np.isfinite(np.square(draws)).reshape(len(draws), -1).all(1)
        return infinite if errors is None or targets is None else infinite | absurd(errors, float(np.var(targets)))


def absurd(errors: np.ndarray, variance: float) -> np.ndarray:
    """Which tasks' squared errors are NaN, or over 100 times the variance of the targets of all tasks."""
    return ~(errors <= ABSURD * variance)


def of_classes(probabilities: np.ndarray, labels: np.ndarray, rules: "Rules") -> dict[str, np.ndarray]:
    """The measures of each task of a classification test, by name, in their units; arguments as `accuracy`, and the scoring rules."""
    return {
        "accuracy": 100 * accuracy_under(rules, probabilities, labels),
        "nll": categorical_nll(probabilities, labels),
        "brier": brier(probabilities, labels),
    }


def of_numbers(draws: np.ndarray, targets: np.ndarray, noise_std: float | np.ndarray) -> dict[str, np.ndarray]:
    """The measures of each task of a regression test, by name, in their units; arguments as `mixture_nll`."""
    learned = {"noise_std": np.mean(noise_std, (1, 2, 3))} if isinstance(noise_std, np.ndarray) else {}
    return {
        "mse": squared_error(draws, targets),
        "nll": mixture_nll(draws, targets, noise_std),
        "coverage90": 100 * coverage(draws, targets, noise_std),
        **learned,
    }


def _check_classes(probabilities: np.ndarray, labels: np.ndarray) -> None:
    """Raises a ValueError unless there is a label for each query: NumPy would repeat a shorter array in silence."""
    p, y = np.asarray(probabilities), np.asarray(labels)
    if p.ndim != 3 or p.dtype.kind != "f" or y.shape != p.shape[:2] or y.dtype.kind not in "iu" or not y.size:
        raise ValueError(
            "`probabilities` must be floats [tasks, queries, classes], and `labels` integers [tasks, queries]. "
            f"Received: {p.dtype} {list(p.shape)}, {y.dtype} {list(y.shape)}"
        )
    if y.min() < 0 or y.max() >= p.shape[-1]:
        raise ValueError(f"`labels` must be from 0 to {p.shape[-1] - 1}. Received: labels from {y.min()} to {y.max()}")


def _check_numbers(draws: np.ndarray, targets: np.ndarray, noise_std: float | np.ndarray = 1.0) -> None:
    """Raises a ValueError unless there is a target for each query."""
    f, y = np.asarray(draws), np.asarray(targets)
    if f.ndim != 4 or f.shape[:1] + f.shape[2:] != y.shape or not f.size:
        raise ValueError(
            "`draws` must be [tasks, B, queries, outputs], and `targets` [tasks, queries, outputs]. "
            f"Received: {list(f.shape)}, {list(y.shape)}"
        )
    if not np.all(np.asarray(noise_std) > 0):
        raise ValueError(f"`noise_std` must be positive. Received: {np.min(noise_std)}")
