"""ABML on one weight, where everything has a closed form, and against finite differences."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf import networks
from stochlwta_tf.learners import ABML
from tests.helpers.small_tasks import finite_difference_error, image_tasks, line_task, slopes

tfd = tfp.distributions
KL, TASKS, RATE, NOISE_STD, MIN_STD = 0.02, 50, 0.05, 0.75, 1e-3


def softplus(x):
    return np.log1p(np.exp(x))


def closed_form(mu0, rho0, task, eps):
    """The meta-loss of the one weight w of y = w x, after an inner step for each of `eps` but the last."""
    sx, sy, qx, qy = (t.numpy() for t in task[:4])
    mu, rho, prior_std = mu0, rho0, softplus(rho0) + MIN_STD
    for e in eps[:-1]:
        std = softplus(rho) + MIN_STD
        slope = np.mean(sx * ((mu + std * e) * sx - sy)) / NOISE_STD**2
        mu_slope = slope + KL * (mu - mu0) / prior_std**2
        std_slope = slope * e + KL * (std / prior_std**2 - 1 / std)
        mu, rho = mu - RATE * mu_slope, rho - RATE * std_slope / (1 + np.exp(-rho))
    std = softplus(rho) + MIN_STD
    x, y = np.concatenate([sx, qx]), np.concatenate([sy, qy])
    nll = np.mean(0.5 * ((y - (mu + std * eps[-1]) * x) / NOISE_STD) ** 2) + np.log(NOISE_STD) + 0.5 * np.log(2 * np.pi)
    kl = tfd.kl_divergence(tfd.Normal(mu, std), tfd.Normal(mu0, prior_std)).numpy()
    zero, one = np.float64(0), np.float64(1)
    hyperprior = tfd.Normal(zero, one).log_prob(mu0).numpy() + tfd.Gamma(one, np.float64(0.01)).log_prob(prior_std**-2).numpy()
    return (nll + KL * kl - hyperprior / TASKS).item()


def test_the_meta_loss_and_its_gradient_are_those_of_the_closed_form(float64, inject_noise):
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    settings = {"inner_lr": RATE, "inner_steps": 2, "kl_weight": KL, "training_tasks": TASKS, "noise_std": NOISE_STD, "min_std": MIN_STD}
    learner = ABML(network, likelihood="gaussian", **settings)
    network.trainable_variables[0].assign([[0.4]])
    learner.rho[0].assign([[-1.0]])
    eps = [0.7, -1.1, 0.4]
    left = inject_noise(*(np.full((1, 1), e) for e in eps))
    gradient, (loss, _) = learner.task_update(*learner.current_values(), line_task())
    assert left == []
    assert float(loss) == pytest.approx(closed_form(0.4, -1.0, line_task(), eps), rel=1e-9)
    expected = slopes(lambda mu, rho: closed_form(mu, rho, line_task(), eps), [0.4, -1.0])
    ours = learner.values_of(gradient, network.trainable_variables, learner.rho)
    np.testing.assert_allclose(np.ravel(ours), expected, rtol=1e-6)


def test_the_expectations_are_means_over_samples(float64, inject_noise):
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    network.trainable_variables[0].assign([[0.4]])
    losses = []
    for samples, eps in ((2, [0.7, -0.2]), (1, [0.7]), (1, [-0.2])):
        learner = ABML(network, likelihood="gaussian", inner_steps=0, train_draws=samples)
        learner.rho[0].assign([[-1.0]])
        inject_noise(*(np.full((1, 1), e) for e in eps))
        losses.append(float(learner.task_update(*learner.current_values(), line_task())[1][0]))
    assert losses[0] == pytest.approx(np.mean(losses[1:]))


@pytest.mark.slow
@pytest.mark.parametrize("batch_statistics", ["transductive", "support"])
def test_meta_gradient_through_convolutions_is_that_of_finite_differences(float64, batch_statistics):
    keras.utils.set_random_seed(0)
    network = networks.conv4((8, 8, 1), 3, filters=2, activation="tanh")
    learner = ABML(network, inner_lr=0.1, inner_steps=1, kl_weight=1e-3, rho_initial=-3.0, batch_statistics=batch_statistics)
    assert finite_difference_error(learner, image_tasks(), directions=1) < 1e-5


def test_a_prediction_samples_the_adapted_posterior():
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    learner = ABML(network, likelihood="gaussian", inner_steps=0, draws=500)
    network.trainable_variables[0].assign([[0.4]])
    learner.rho[0].assign([[-1.0]])
    draws = learner.adapt_to(np.ones((1, 1)), np.ones((1, 1))).predict(np.ones((2, 1))).draws
    np.testing.assert_array_equal(draws[:, 0], draws[:, 1])  # a draw is one function
    assert draws.mean() == pytest.approx(0.4, abs=0.05)
    assert draws.std() == pytest.approx(softplus(-1.0), rel=0.1)


def test_twice_the_parameters():
    network = networks.mlp((1,), 1)
    assert networks.trainable_parameters(ABML(network)) == 2 * networks.trainable_parameters(network)
    assert [v.shape for v in ABML(network).rho] == [v.shape for v in network.trainable_variables]


def test_the_smallest_std_keeps_the_kl_finite():
    network = networks.mlp((1,), 1, units=(3,))
    learner = ABML(network, likelihood="gaussian", inner_steps=2)
    for v in learner.rho:
        v.assign(tf.fill(v.shape, -50.0))
    gradient, (loss, _) = learner.task_update(*learner.current_values(), line_task("float32"))
    assert np.isfinite(loss) and all(np.isfinite(g).all() for g in gradient)
