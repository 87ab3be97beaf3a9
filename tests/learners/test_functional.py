"""Calling a network with given values, and its losses."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf import networks, random
from stochlwta_tf.layers import GaussianDense
from stochlwta_tf.learners.functional import functional_call, with_noise_key
from tests.helpers.small_learners import bits_of, point_classes, tiny_lwta

tfd = tfp.distributions


def test_a_functional_call_is_the_call_with_the_values_assigned():
    network, x = tiny_lwta(predict_with="mean"), point_classes(1).support_x[0]
    before = bits_of(network)
    weights = [v.value + 0.1 for v in network.trainable_variables]
    state = with_noise_key(network, [v.value for v in network.non_trainable_variables], random.key_from_seed(1))
    outputs, new_state, losses = functional_call(network, weights, state, x, training=True)
    assert bits_of(network) == before
    for v, value in zip([*network.trainable_variables, *network.non_trainable_variables], [*weights, *state]):
        v.assign(value)
    np.testing.assert_array_equal(network(x, training=True), outputs)
    assert list(losses.examples) == ["units1"] and list(losses.weights) == ["hidden1", "output"]
    named = {**losses.examples, **losses.weights}
    for name, loss in named.items():
        assert float(loss) == pytest.approx(float(network.get_layer(name).losses[0]))
    for v, value in zip(network.non_trainable_variables, new_state):
        np.testing.assert_array_equal(v, value)
    assert functional_call(network, weights, state, x, training=False)[2] == ({}, {})


def test_a_layer_used_twice_has_one_kl_and_draws_twice():
    layer = GaussianDense(2, rho_initializer=-1.0, name="shared")
    inputs = keras.Input((2,))
    first, second = layer(inputs), layer(inputs)
    network = keras.Model(inputs, [first, second])
    state = with_noise_key(network, [v.value for v in network.non_trainable_variables], random.key_from_seed(1))
    (y1, y2), _, losses = functional_call(network, [v.value for v in network.trainable_variables], state, tf.ones([1, 2]), training=True)
    assert float(losses.weights["shared"]) == pytest.approx(float(tfd.kl_divergence(layer.posterior(), layer.prior())), rel=1e-5)
    assert not np.allclose(y1, y2)


def test_every_layer_gets_its_own_noise_key():
    network = networks.conv4((4, 4, 1), 2, filters=2, activation="stochastic_lwta", weights="gaussian")
    state = [v.value for v in network.non_trainable_variables]
    keyed = with_noise_key(network, state, random.key_from_seed(1))
    generators = [v.name == "seed_generator_state" for v in network.non_trainable_variables]
    keys = [tuple(k.numpy()) for k, is_key in zip(keyed, generators) if is_key]
    assert len(set(keys)) == len(keys) == 9
    others = [tuple(k.numpy()) for k, is_key in zip(with_noise_key(network, state, random.key_from_seed(2)), generators) if is_key]
    assert not set(keys) & set(others)
    assert all(a is b for a, b, is_key in zip(keyed, state, generators) if not is_key)


def test_losses_of_a_subclassed_network_and_of_a_shared_layer_count_once():
    class Penalised(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, activity_regularizer="l2")
            self.again = keras.Sequential([self.dense])

        def call(self, x):
            self.add_loss(tf.constant(3.0))
            return self.again(self.dense(x))

    network = Penalised()
    x = tf.ones([1, 2])
    network(x)
    weights = [tf.convert_to_tensor(v) for v in network.trainable_variables]
    _, _, losses = functional_call(network, weights, [], x, training=True)
    network(x, training=True)
    np.testing.assert_allclose(sum(float(v) for v in losses.examples.values()), float(sum(network.losses)), rtol=1e-6)
    assert float(losses.examples[network.name]) == 3.0 and losses.weights == {}


def test_regularizers_of_weights_count_at_the_weights_given():
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, bias_regularizer="l1")])
    network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, kernel_regularizer="l2"), inner])
    weights = [tf.ones(v.shape) for v in network.trainable_variables]
    _, _, losses = functional_call(network, weights, [], tf.ones([1, 2]), training=True)
    np.testing.assert_allclose(sorted(map(float, losses.weights.values())), [0.01 * 2, 0.01 * 6])
    assert losses.examples == {}
