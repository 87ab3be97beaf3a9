"""Options of a learner, set once."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks
from stochlwta_tf.learners import BMAML, MAML


def test_options_are_fixed_in_construction_and_another_learner_has_others():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(8, 1)).astype("float32")
    learner = MAML(networks.mlp((1,), 1, units=(8,)), likelihood="gaussian", inner_lr=0.05, inner_steps=1)
    few = learner.adapt_to(x, np.sin(x)).predict(x).mean
    with pytest.raises(AttributeError, match=r"with_options\(inner_steps=…\) makes a new model\. Received: inner_steps=100$"):
        learner.inner_steps = 100
    with pytest.raises(TypeError, match=r"The options of \w+ are .*inner_steps.*\. Received: inner_step$"):
        learner.with_options(inner_step=3)
    many = learner.with_options(test_inner_steps=100).adapt_to(x, np.sin(x)).predict(x).mean
    assert np.mean((many - np.sin(x)) ** 2) < 0.9 * np.mean((few - np.sin(x)) ** 2)
    np.testing.assert_array_equal(learner.adapt_to(x, np.sin(x)).predict(x).mean, few)


def test_the_options_of_every_class_are_fixed():
    learner = BMAML(networks.mlp((1,), 1, units=(2,)), likelihood="gaussian", particles=2)
    for name in ("particles", "leader_steps", "noise_std", "draws", "network"):
        with pytest.raises(AttributeError, match="Options are fixed"):
            setattr(learner, name, 3)
    learner.trainable = False  # no option of ours


def test_a_network_that_cannot_be_serialised_can_be_adapted():
    class Apply(keras.layers.Layer):
        def __init__(self, function):
            super().__init__()
            self.function = function

        def call(self, x):
            return self.function(x)

    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(4), Apply(tf.nn.relu), keras.layers.Dense(1)])
    learner = MAML(network, likelihood="gaussian")
    x = np.ones((3, 1), "float32")
    assert learner.adapt_to(x, x).predict(x).mean.shape == (3, 1)
