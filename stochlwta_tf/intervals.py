"""95 % confidence intervals: of a mean and a median over tasks, of a difference on the same tasks, and over seeds and tasks together."""

import functools
import math

import numpy as np
from numpy.typing import ArrayLike
from scipy import special


@functools.cache
def t95(freedom: float) -> float:
    """The 97.5 % quantile of Student's t: t with P(T ≤ t) = 0.975.

    Args:
        freedom: Degrees of freedom f, 1 or more, not necessarily whole.

    Example:

    >>> round(t95(2), 4)
    4.3027
    """
    return float(special.stdtrit(freedom, 0.975))


def mean_and_ci95(values: ArrayLike) -> tuple[float, float]:
    """Mean over tasks, and half the width of its 95 % interval: t s / sqrt(n), t of n − 1 degrees of freedom.

    Example:

    >>> mean, half = mean_and_ci95([0.0, 1.0])
    >>> mean, round(half, 2)
    (0.5, 6.35)
    """
    values = np.asarray(values, "float64")
    return float(values.mean()), float(t95(len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values)))


def paired_difference(values: ArrayLike, others: ArrayLike) -> tuple[float, float]:
    """Mean of `values − others` on the same tasks, and half the width of its 95 % interval; tasks that lack either value are skipped.

    Raises:
        ValueError: Their lengths differ, or fewer than two tasks have both values.

    Example:

    >>> paired_difference([1.0, 2.0, 3.0], [0.0, 1.0, 2.0])
    (1.0, 0.0)
    """
    values, others = (np.array(v, "float64") for v in (values, others))  # None becomes NaN
    if values.shape != others.shape:
        raise ValueError(f"Both must be of the same tasks. Received: {len(values)} and {len(others)} tasks.")
    both = np.isfinite(values) & np.isfinite(others)
    if both.sum() < 2:
        raise ValueError(f"A paired interval needs two tasks with both values. Received: {both.sum()}.")
    return mean_and_ci95(values[both] - others[both])


def median_and_ci95(values: ArrayLike) -> tuple[float, float, float]:
    """Median over tasks, and the ends of its distribution-free 95 % interval, two order statistics; values may be infinite.

    The number of values below the true median is Binomial(n, 1/2), so the k-th smallest and the k-th largest enclose it with a probability
    of 1 − 2 P(Binomial(n, 1/2) < k); k is the largest with 95 % or more, and 1 below six tasks, where none has.

    Example:

    >>> median_and_ci95([3.0, 1.0, 2.0])
    (2.0, 1.0, 3.0)
    """
    values, n = np.sort(np.asarray(values, "float64")), len(values)
    logs = [math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) - n * math.log(2) for i in range(n // 2)]
    k = max(1, int(np.searchsorted(np.cumsum(np.exp(logs)), 0.025, side="right")))
    low, high = values[(n - 1) // 2], values[n // 2]
    return float(low if low == high else (low + high) / 2), float(values[k - 1]), float(values[n - k])


def over_seeds_and_tasks(means: ArrayLike, halves: ArrayLike, tasks: int) -> tuple[float, float]:
    """Mean over seeds, and half the width of its 95 % interval over seeds and tasks together.

    With S seeds tested on the same n tasks the variance of the mean is a + b: a = (variance between the seeds' means) / S, and b = the
    mean of the seeds' squared standard errors over tasks, which more seeds do not lower, because the tasks are shared.  What a seed's own
    noise does to its mean counts in both, so the interval is conservative.  Its t has (a + b)² / (a² / (S − 1) + b² / (n − 1))
    degrees of freedom (Satterthwaite), about S − 1 where the seeds dominate and n − 1 where the tasks do.  With two or three seeds that can
    come out below the interval over seeds alone, t sqrt(a) of S − 1 degrees of freedom; the wider of the two is returned.  One seed: the
    interval over tasks alone.

    Args:
        means: Of each seed.
        halves: Half widths of each seed's interval over tasks, as `mean_and_ci95`.
        tasks: n.

    Example:

    >>> mean, half = over_seeds_and_tasks([1.0, 2.0, 3.0], [0.0, 0.0, 0.0], 600)  # t of 2 degrees of freedom over seeds alone
    >>> mean, round(half, 2)
    (2.0, 2.48)
    """
    means, seeds = np.asarray(means, "float64"), len(means)
    b = float(np.mean(np.square(halves))) / t95(tasks - 1) ** 2
    a = float(means.var(ddof=1)) / seeds if seeds > 1 else 0.0
    if not a:
        return float(means.mean()), t95(tasks - 1) * math.sqrt(b)
    freedom = (a + b) ** 2 / (a**2 / (seeds - 1) + b**2 / (tasks - 1))
    return float(means.mean()), max(t95(freedom) * math.sqrt(a + b), t95(seeds - 1) * math.sqrt(a))
