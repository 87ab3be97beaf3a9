"""Predictions of test tasks."""

import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.evaluation.predictions import check_finite, predict
from stochlwta_tf.learners import Reptile
from stochlwta_tf.tasks import Sinusoid


def test_the_first_tasks_are_the_same_whatever_their_number():
    learner = Reptile(networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", inner_steps=1)
    tasks = Sinusoid("test", batch=4, seed=0)
    few, many = (predict(learner, tasks, n) for n in (3, 7))
    np.testing.assert_array_equal(few.draws, many.draws[:3])
    assert many.draws.shape == (7, 1, 100, 1)


def test_predictions_whose_error_overflows_are_not_finite():
    with pytest.raises(NonFiniteError, match="the predictions of 1 of 3 test tasks, first of task 2, are not finite"):
        check_finite(np.array([[1.0, 2.0], [-1e18, 0.0], [0.0, 1e20]], "float32"))
