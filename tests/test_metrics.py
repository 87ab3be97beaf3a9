"""Measures against numbers worked out by hand, closed forms, simulation and leaving tasks out."""

import math

import numpy as np
import pytest
from scipy import stats

from stochlwta_tf import metrics

PROBABILITIES = np.array([[[0.7, 0.2, 0.1], [0.1, 0.3, 0.6]], [[0.5, 0.25, 0.25], [0.2, 0.5, 0.3]]])  # [tasks, queries, classes]
LABELS = np.array([[0, 1], [0, 1]])


def test_classification_measures_by_hand():
    np.testing.assert_allclose(metrics.accuracy(PROBABILITIES, LABELS), [0.5, 1.0])
    np.testing.assert_allclose(
        metrics.categorical_nll(PROBABILITIES, LABELS), [-(math.log(0.7) + math.log(0.3)) / 2, -(math.log(0.5) + math.log(0.5)) / 2]
    )
    # (0.3² + 0.2² + 0.1²), (0.1² + 0.7² + 0.6²); (0.5² + 2 0.25²), (0.2² + 0.5² + 0.3²)
    np.testing.assert_allclose(metrics.brier(PROBABILITIES, LABELS), [(0.14 + 0.86) / 2, (0.375 + 0.38) / 2])


def test_nll_of_a_probability_that_is_zero_in_float32_is_finite():
    p = np.array([[[1.0, 0.0]]], "float32")
    assert metrics.categorical_nll(p, np.array([[1]]))[0] == pytest.approx(87.3365, abs=1e-3)


def test_calibration_error_by_hand():
    # Tops 0.7 (right), 0.6 (wrong), 0.5 (right), 0.5 (right) fall in the bins of upper edges 11/15, 9/15, 8/15, 8/15.
    error, _ = metrics.calibration_error(PROBABILITIES, LABELS)
    assert error == pytest.approx((0.3 + 0.6 + 2 * 0.5) / 4)


def test_interval_of_the_calibration_error_agrees_with_repeated_tests():
    # Every top probability is 0.8 and right 60 % of the time: ECE is 0.2, its standard error that of a proportion.
    rng = np.random.default_rng(0)
    labels = (rng.random((500, 20)) > 0.6).astype(int)
    probabilities = np.broadcast_to([0.8, 0.2], (500, 20, 2))
    error, ci95 = metrics.calibration_error(probabilities, labels)
    assert error == pytest.approx(0.2, abs=0.02)
    assert ci95 == pytest.approx(1.9647 * math.sqrt(0.6 * 0.4 / 10_000), rel=0.1)


def test_interval_of_the_calibration_error_is_the_jackknifes():
    rng = np.random.default_rng(2)
    p, labels = rng.dirichlet(np.ones(3), (6, 7)), rng.integers(0, 3, (6, 7))
    error, ci95 = metrics.calibration_error(p, labels)
    without = [metrics.calibration_error(np.delete(p, i, 0), np.delete(labels, i, 0))[0] for i in range(6)]
    assert ci95 == pytest.approx(stats.t.ppf(0.975, 5) * math.sqrt(5 / 6 * np.sum(np.square(without - np.mean(without)))))
    assert error == pytest.approx(np.mean(without), abs=0.1)


def test_a_calibrated_predictor_has_nearly_no_calibration_error():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(5), (400, 50))
    labels = (p.cumsum(-1) < rng.random((400, 50, 1))).sum(-1)
    assert metrics.calibration_error(p, labels)[0] < 0.015


def test_squared_error_is_of_the_mean_over_draws():
    draws = np.array([[[[0.0], [1.0]], [[2.0], [3.0]]]])  # one task, two draws, two queries: means 1 and 2
    np.testing.assert_allclose(metrics.squared_error(draws, np.array([[[1.0], [4.0]]])), [2.0])


def test_one_draw_is_a_gaussian():
    draws, y = np.array([[[[0.5], [-1.0]]]]), np.array([[[1.5], [-1.0]]])
    expected = np.mean([0.5 * (1.0 / 2.0) ** 2, 0.0]) + math.log(2.0 * math.sqrt(2 * math.pi))
    np.testing.assert_allclose(metrics.mixture_nll(draws, y, 2.0), [expected])
    low, high = metrics.mixture_band(draws, 2.0)
    np.testing.assert_allclose(high - draws[:, 0], 2.0 * 1.6448536, rtol=1e-6)
    np.testing.assert_allclose(low + high, 2 * draws[:, 0], atol=1e-9)


def test_mixture_of_two_draws_by_hand():
    draws = np.array([[[[0.0]], [[2.0]]]])
    phi = lambda z: math.exp(-z * z / 2) / math.sqrt(2 * math.pi)  # noqa: E731
    np.testing.assert_allclose(metrics.mixture_nll(draws, np.array([[[0.5]]]), 1.0), [-math.log((phi(0.5) + phi(1.5)) / 2)])


def test_coverage_is_the_mass_that_falls_into_the_band():
    rng = np.random.default_rng(2)
    draws = rng.normal(size=(50, 4, 200, 1)) * 2
    chosen = np.take_along_axis(draws, rng.integers(0, 4, (50, 1, 200, 1)), 1)[:, 0]
    y = chosen + 0.7 * rng.normal(size=chosen.shape)  # a sample of the predictive mixture itself
    covered = metrics.coverage(draws, y, 0.7)
    assert np.mean(covered) == pytest.approx(0.9, abs=0.015)
    low, high = metrics.mixture_band(draws, 0.7)
    np.testing.assert_allclose(covered, np.mean((low <= y) & (y <= high), (-2, -1)))


def test_coverage_of_noise_free_targets_is_more_than_the_bands_mass():
    # Calibrated: truth and draw are both N(0, s²). Noisy targets are covered at 90 %, the truth itself more often.
    rng = np.random.default_rng(3)
    truth, draws = rng.normal(size=(40, 200, 1)), rng.normal(size=(40, 200, 200, 1))
    noisy = truth + 0.7 * rng.normal(size=truth.shape)
    assert np.mean(metrics.coverage(draws, noisy, 0.7)) == pytest.approx(0.9, abs=0.015)
    assert np.mean(metrics.coverage(draws, truth, 0.7)) > 0.93


def test_a_task_diverges_that_is_not_finite_or_absurd():
    draws = np.array([[0.0, 1.0], [np.nan, 0.0], [1e20, 0.0], [50.0, 50.0]], "float32")
    assert metrics.diverged(draws).tolist() == [False, True, True, False]
    targets = np.array([-1.0, 1.0])  # of variance 1
    assert metrics.diverged(draws, np.array([99.0, np.nan, np.inf, 101.0]), targets).tolist() == [False, True, True, True]


def test_scoring_across_queries_is_what_numpy_says():
    rng = np.random.default_rng(0)
    p = rng.random((50, 4, 4))
    expected = [np.mean([np.argmax([p[t, i, c] for i in range(4)]) == c for c in range(4)]) for t in range(50)]
    np.testing.assert_allclose(metrics.accuracy_across_queries(p), expected)
    # Each query's most probable class is 0, yet each class has its own query as its best.
    p = np.array([[[0.9, 0.05, 0.05], [0.5, 0.4, 0.1], [0.5, 0.1, 0.4]]])
    assert metrics.accuracy(p, np.arange(3)[None]) == pytest.approx(1 / 3)
    assert metrics.accuracy_across_queries(p) == pytest.approx(1.0)


def test_a_confidence_on_an_edge_belongs_to_the_bin_below():
    assert metrics.bin_of(np.array([0.0, 0.2, 0.21, 0.6, 1.0])).tolist() == [0, 2, 3, 8, 14]  # of 15 bins: 0.2 and 0.6 end bins 2 and 8


def test_selective_accuracy_keeps_the_queries_of_least_entropy():
    p = np.array([[[0.6, 0.4], [0.1, 0.9], [0.5, 0.5], [0.8, 0.2], [0.3, 0.7]]])
    labels = np.array([[1, 1, 0, 0, 1]])  # in the order of certainty: right, right, right, wrong, (argmax of equals is 0) right
    assert [metrics.selective_accuracy(p, labels, c)[0] for c in (0.2, 0.6, 0.8, 1.0)] == pytest.approx([1, 1, 0.75, 0.8])


def test_auroc_counts_the_pairs_and_is_scikit_learns():
    rng = np.random.default_rng(0)
    scores, positive = rng.integers(0, 6, (4, 30)) / 6, rng.random((4, 30)) < 0.4
    of_pairs = [
        np.mean((s[p][:, None] > s[~p][None]) + 0.5 * (s[p][:, None] == s[~p][None])) for s, p in zip(scores, positive, strict=True)
    ]
    np.testing.assert_allclose(metrics.auroc(scores, positive), of_pairs)
    sklearn = pytest.importorskip("sklearn.metrics")
    np.testing.assert_allclose(of_pairs, [sklearn.roc_auc_score(p, s) for s, p in zip(scores, positive, strict=True)])
    assert np.isnan(metrics.auroc(np.array([[0.1, np.nan]]), np.array([[True, False]]))[0])
