"""Predictions of test tasks."""

import keras
import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.evaluation.predictions import check_finite, predict, predict_alike
from stochlwta_tf.layers import BatchNormalization
from stochlwta_tf.learners import BMAML, PLATIPUS, Reptile, StochLWTA
from stochlwta_tf.tasks import Sinusoid
from tests.helpers.bars import Bars


def test_the_first_tasks_are_the_same_whatever_their_number():
    learner = Reptile(networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", inner_steps=1)
    tasks = Sinusoid("test", batch=4, seed=0)
    few, many = (predict(learner, tasks, n) for n in (3, 7))
    np.testing.assert_array_equal(few.draws, many.draws[:3])
    assert many.draws.shape == (7, 1, 100, 1)


def test_predictions_whose_error_overflows_are_not_finite():
    with pytest.raises(NonFiniteError, match="the predictions of 1 of 3 test tasks, first of task 2, are not finite"):
        check_finite(np.array([[1.0, 2.0], [-1e18, 0.0], [0.0, 1e20]], "float32"))


@pytest.mark.parametrize(
    ("learner", "network"),
    [
        (StochLWTA, {"activation": "stochastic_lwta", "weights": "gaussian"}),
        (BMAML, {}),
        pytest.param(PLATIPUS, {}, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize("dense", [True, False])
def test_twins_that_share_an_adaptation_predict_what_each_predicts_alone(learner, network, dense):
    tasks = Bars("test", 3, 0, way=3, shot=2, queries=2)
    if dense:
        layers = [keras.Input((12, 12, 1)), keras.layers.Flatten(), keras.layers.Dense(4), BatchNormalization(), keras.layers.Dense(3)]
        made = keras.Sequential(layers)
    else:
        made = networks.conv4((12, 12, 1), 3, filters=2, **network)
    own = learner(made, inner_lr=0.05, inner_steps=2, draws={BMAML: 5}.get(learner, 2))
    twin = own.with_options(batch_statistics="support")
    for alone, shared in zip((predict(own, tasks, 4), predict(twin, tasks, 4)), predict_alike([own, twin], tasks, 4), strict=True):
        np.testing.assert_allclose(shared.draws, alone.draws, rtol=1e-4, atol=1e-5)
        np.testing.assert_array_equal(shared.query_y, alone.query_y)
        assert shared.mean.shape == (4, 6, 3) and shared.with_unknown is None


def test_queries_of_an_unknown_class_leave_the_support_statistics_and_so_the_others_alone():
    tasks = Bars("test", 3, 0, way=3, shot=2, queries=2)
    own = Reptile(networks.conv4((12, 12, 1), 3, filters=2), inner_lr=0.05, inner_steps=1)
    transductive, support = predict_alike([own, own.with_options(batch_statistics="support")], tasks, 4, unknown=True)
    assert support.with_unknown.shape == (4, 8, 3)
    np.testing.assert_allclose(support.with_unknown[:, :6], support.mean, atol=1e-5)
    assert np.abs(transductive.with_unknown[:, :6] - transductive.mean).max() > 1e-3  # of whose batch they are a part
