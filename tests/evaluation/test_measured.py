"""Measures of predictions, and of those that diverged."""

import numpy as np
import pytest

import stochlwta_tf  # noqa: F401  registers the learners
from stochlwta_tf.evaluation import measured
from stochlwta_tf.evaluation.predictions import Predictions
from stochlwta_tf.tasks.protocols import PROTOCOLS


def test_a_constant_answer_is_right_once_in_n():
    p = np.zeros((7, 15, 5))
    p[..., 0] = 1.0
    labels = np.tile(np.repeat(np.arange(5), 3), (7, 1))
    predictions = Predictions(labels, p[:, None], p, np.zeros(1))
    assert measured.measures_of(predictions, PROTOCOLS["standard"])["accuracy"][:2] == pytest.approx((20.0, 0.0))


@pytest.mark.parametrize("bad", [np.nan, 1e5])
def test_a_few_diverged_tasks_are_counted_and_do_not_make_the_number(bad):
    rng = np.random.default_rng(0)
    y, draws = rng.normal(size=(40, 5, 1)), rng.normal(size=(40, 2, 5, 1))
    draws[[3, 7]] = bad
    found = measured.measures_of(Predictions(y, draws, draws.mean(1), np.zeros(1), 1.0))
    kept = np.delete(np.arange(40), [3, 7])
    errors = np.mean((draws.mean(1) - y)[kept] ** 2, (1, 2))
    assert found["mse"].row()["diverged"] == 2
    assert found["mse"].value == pytest.approx(errors.mean())
    assert found["mse"].median == pytest.approx(np.mean(np.sort(errors)[19:21]))  # of forty, two of them at the far end
    assert [i for i, value in enumerate(measured.per_task(found["mse"])) if value is None] == [3, 7]


def test_a_classifier_that_diverges_on_a_task_is_not_right_there():
    p = np.full((5, 6, 2), [1.0, 0.0])
    draws = p[:, None].copy()
    draws[2] = p[2] = np.nan  # argmax of NaN is class 0, which is right
    found = measured.measures_of(Predictions(np.zeros((5, 6), int), draws, p, np.zeros(1)), PROTOCOLS["standard"])
    assert (found["accuracy"].value, found["accuracy"].median, found["accuracy"].diverged) == (100.0, 100.0, 1)
    assert measured.per_task(found["accuracy"]) == [100.0, 100.0, None, 100.0, 100.0]
