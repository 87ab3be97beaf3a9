"""Confidence intervals against closed forms, printed tables and repeated experiments."""

import math

import numpy as np
import pytest

from stochlwta_tf import intervals


@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [
        (1, math.tan(0.475 * math.pi)),  # Cauchy
        (2, 0.95 * math.sqrt(2 / (1 - 0.95**2))),
        (4, 2 * math.sqrt(math.cos(math.acos(math.sqrt(1 - 0.95**2)) / 3) / math.sqrt(1 - 0.95**2) - 1)),
        (1e12, 1.959963984540054),  # normal
    ],
)
def test_the_quantile_is_that_of_students_t(freedom, quantile):
    assert intervals.t95(freedom) == pytest.approx(quantile, rel=1e-9)


@pytest.mark.parametrize(("freedom", "quantile"), [(9, 2.2622), (29, 2.0452), (599, 1.9639)])
def test_the_quantile_is_that_of_printed_tables(freedom, quantile):
    assert intervals.t95(freedom) == pytest.approx(quantile, abs=5e-5)


def test_mean_and_interval_of_a_known_sample():
    mean, ci95 = intervals.mean_and_ci95([1.0, 2.0, 3.0, 4.0])
    assert mean == 2.5
    assert ci95 == pytest.approx(3.182446 * math.sqrt(5 / 3) / 2, rel=1e-6)  # t of 3 degrees of freedom


def test_two_tasks_have_the_wide_interval_of_one_degree_of_freedom():
    assert intervals.mean_and_ci95([0.5, 0.6])[1] == pytest.approx(12.7062 * 0.05, rel=1e-5)


def test_a_paired_interval_is_that_of_the_differences():
    rng = np.random.default_rng(0)
    tasks = rng.normal(size=500)
    a, b = tasks + 0.1 * rng.normal(size=500), tasks + 0.1 * rng.normal(size=500) + 1.0
    mean, ci95 = intervals.paired_difference(a, b)
    assert mean == pytest.approx(-1.0, abs=0.03)
    assert ci95 == pytest.approx(1.9647 * math.sqrt(0.02 / 500), rel=0.1)  # the tasks' own variance of 1 is gone
    assert intervals.paired_difference([1.0, None, 3.0, 5.0], [0.0, 9.0, 2.0, math.inf]) == (1.0, 0.0)  # diverged tasks are left out


@pytest.mark.parametrize(("a", "b", "message"), [([1, 2], [1], "2 and 1 tasks"), ([None, 1], [1, None], "Received: 0")])
def test_what_is_not_paired_is_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        intervals.paired_difference(a, b)


def test_the_interval_of_a_median_has_the_binomials_mass():
    stats = pytest.importorskip("scipy.stats")
    for n in (6, 7, 30, 601):
        median, low, high = intervals.median_and_ci95(np.arange(n))
        assert median == (n - 1) / 2
        k = int(low) + 1
        assert high == n - k
        assert 2 * stats.binom.cdf(k - 1, n, 0.5) <= 0.05 < 2 * stats.binom.cdf(k, n, 0.5)


def test_a_median_outlives_diverged_tasks():
    assert intervals.median_and_ci95([1.0, 2.0, 3.0, math.inf, math.inf])[0] == 3.0
    assert intervals.median_and_ci95([1.0, math.inf, math.inf])[0] == math.inf


def test_over_seeds_that_agree_the_interval_is_that_of_the_tasks():
    assert intervals.over_seeds_and_tasks([2.0, 2.0], [0.1, 0.1], 600) == (2.0, pytest.approx(0.1))
    assert intervals.over_seeds_and_tasks([2.0], [0.1], 600) == (2.0, pytest.approx(0.1))


def test_over_few_seeds_that_differ_the_interval_is_that_of_the_seeds():
    # As five seeds of StochLWTA-ML on sinusoids: a mean of the seeds' own intervals would hide what lies between them.
    means, halves = [0.66, 0.69, 0.77, 0.83, 0.82], [0.057] * 5
    mean, half = intervals.over_seeds_and_tasks(means, halves, 600)
    seeds = 2.776445 * np.std(means, ddof=1) / math.sqrt(5)
    assert mean == pytest.approx(np.mean(means))
    assert half > max(seeds, 0.057)
    assert half < math.hypot(seeds, 0.057)


def test_the_interval_is_never_narrower_than_that_of_seeds_or_tasks_alone():
    for seeds in (2, 3, 5):
        for half in (0.01, 0.1, 1.0, 10.0):
            means = np.linspace(0, 1, seeds)
            found = intervals.over_seeds_and_tasks(means, [half] * seeds, 600)[1]
            assert found >= 0.999 * max(half, intervals.mean_and_ci95(means)[1])


def test_the_interval_over_seeds_and_tasks_covers():
    rng, covered = np.random.default_rng(1), 0
    for _ in range(1000):  # of three seeds on the same forty tasks
        tasks = 0.5 * rng.normal(size=40)
        runs = [intervals.mean_and_ci95(0.1 * rng.normal() + tasks + 0.3 * rng.normal(size=40)) for _ in range(3)]
        mean, half = intervals.over_seeds_and_tasks(*zip(*runs), 40)
        covered += abs(mean) <= half
    assert 0.94 <= covered / 1000 <= 0.99
