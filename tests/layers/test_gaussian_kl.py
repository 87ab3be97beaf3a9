"""The KL divergence of GaussianDense and GaussianConv2D against TensorFlow Probability, Monte Carlo and closed forms."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import stats

from stochlwta_tf.layers import GaussianDense
from tests.helpers.gaussian_layers import each_layer, inputs, spread, std


@each_layer
def test_the_kl_is_that_of_tfp_and_of_monte_carlo(make, shape):
    layer = spread(make(kl_weight=0.5, seed=0), shape)
    layer(inputs(shape), training=True)
    (loss,) = layer.losses
    posterior, prior = layer.posterior(), layer.prior()
    expected = float(tfp.distributions.kl_divergence(posterior, prior))
    assert float(loss) == pytest.approx(0.5 * expected, rel=1e-5)
    samples = posterior.sample(4000, seed=[0, 0])
    ratios = posterior.log_prob(samples) - prior.log_prob(samples)
    assert np.mean(ratios) == pytest.approx(expected, abs=4 * np.std(ratios) / np.sqrt(4000))
    np.testing.assert_allclose(posterior.stddev(), std(layer), rtol=1e-5)
    assert posterior.event_shape == layer.mean.shape


def test_the_sampled_kl_is_that_of_the_sampled_kernel_and_unbiased(inject_noise):
    layer = spread(GaussianDense(2, kl_estimator="sample"), (1, 3))
    exact = float(tfp.distributions.kl_divergence(layer.posterior(), layer.prior()))
    noises = np.random.default_rng(2).normal(size=(300, 3, 2)).astype("float32")
    values = []
    for noise in noises:
        inject_noise(noise)
        layer(inputs((1, 3)), training=True)
        values.append(float(layer.losses[0]))
    w = layer.mean.numpy() + std(layer) * noises
    expected = np.sum(stats.norm.logpdf(w, layer.mean.numpy(), std(layer)) - stats.norm.logpdf(w), axis=(1, 2))
    np.testing.assert_allclose(values, expected, atol=1e-4)
    assert np.mean(values) == pytest.approx(exact, abs=4 * np.std(values) / np.sqrt(300))


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("estimator", ["closed_form", "sample"])
def test_the_kl_has_a_gradient(compiled, estimator, inject_noise):
    layer = spread(GaussianDense(2, kl_estimator=estimator), (1, 3))
    noise = np.zeros((3, 2), "float32")

    def gradient():
        inject_noise(noise)
        with tf.GradientTape() as tape:
            layer(tf.ones([1, 3]), training=True)
            loss = layer.losses[0]
        return tape.gradient(loss, [layer.mean.value, layer.rho.value])

    mean, rho = (tf.function(gradient, jit_compile=True) if compiled else gradient)()
    sigma = std(layer)
    slope = 1 / (1 + np.exp(-layer.rho.numpy()))
    np.testing.assert_allclose(mean, layer.mean.numpy(), atol=1e-5)  # at eps = 0 of either estimator
    np.testing.assert_allclose(rho, slope * ((sigma if estimator == "closed_form" else 0) - 1 / sigma), rtol=1e-4)


@each_layer
def test_there_is_no_kl_in_prediction_nor_without_its_weight(make, shape):
    layer = make()
    layer(inputs(shape))
    assert layer.losses == []
    layer = make(kl_weight=0.0)
    layer(inputs(shape), training=True)
    assert layer.losses == []


def test_a_tiny_sigma_has_a_finite_kl():
    layer = GaussianDense(2, rho_min=None)
    layer.build((None, 2))
    layer.rho.assign(np.full((2, 2), -200.0))
    layer(inputs((1, 2)), training=True)
    assert np.isfinite(float(layer.losses[0]))


@pytest.mark.parametrize("rho", [-5.0, -20.0, -100.0])
def test_a_sampled_kl_is_exact_at_tiny_standard_deviations(inject_noise, rho):
    layer = GaussianDense(3, rho_initializer=keras.initializers.Constant(rho), rho_min=None, kl_estimator="sample")
    layer.build((None, 4))
    eps = np.random.default_rng(0).normal(size=(4, 3)).astype("float32")
    inject_noise(eps)
    layer(np.ones((1, 4), "float32"), training=True)
    mean = layer.mean.numpy().astype("float64")
    std = np.log1p(np.exp(np.float64(rho))) + 1e-12
    expected = np.sum(stats.norm.logpdf(eps.astype("float64")) - np.log(std) - stats.norm.logpdf(mean + std * eps))
    assert float(layer.losses[0]) == pytest.approx(expected, rel=1e-5)
