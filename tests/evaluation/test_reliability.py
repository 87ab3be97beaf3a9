"""Reliability of class probabilities, against NumPy."""

import numpy as np
import pytest

from stochlwta_tf import metrics
from stochlwta_tf.evaluation import reliability


def test_bins_are_those_of_the_calibration_error():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5], (30, 20))
    y = np.array([[rng.choice(3, p=q) for q in task] for task in p])
    found = reliability.bins(p, y)
    assert found["ece"] == pytest.approx(100 * metrics.calibration_error(p, y)[0])
    top, right = p.max(-1).ravel(), (p.argmax(-1) == y).ravel()
    assert sum(found["count"]) == 600
    for i in range(15):
        inside = (top > found["edges"][i]) & (top <= found["edges"][i + 1])
        assert found["count"][i] == inside.sum()
        if inside.any():
            assert found["accuracy"][i] == pytest.approx(right[inside].mean())
            assert found["confidence"][i] == pytest.approx(top[inside].mean())
    assert found["accuracy"][0] is None  # no top probability of three is below 1/3
