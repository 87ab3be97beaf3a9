"""Options of a learner that was used."""

import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.learners import MAML


def test_options_are_fixed_once_a_learner_was_used_and_another_has_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 1)).astype("float32")
    learner = MAML(networks.mlp((1,), 1, units=(8,)), likelihood="gaussian", inner_lr=0.05, inner_steps=1)
    learner.test_inner_steps = 2  # not used yet
    few = learner.adapt_to(x, np.sin(x)).predict(x).mean
    with pytest.raises(AttributeError, match=r"with_options\(test_inner_steps=…\) makes a new model\. Received: test_inner_steps=100$"):
        learner.test_inner_steps = 100
    many = learner.with_options(test_inner_steps=100).adapt_to(x, np.sin(x)).predict(x).mean
    assert np.mean((many - np.sin(x)) ** 2) < 0.9 * np.mean((few - np.sin(x)) ** 2)
    np.testing.assert_array_equal(learner.adapt_to(x, np.sin(x)).predict(x).mean, few)
