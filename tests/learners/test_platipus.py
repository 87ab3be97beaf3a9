"""PLATIPUS on one weight, where everything has a closed form, and against finite differences."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf import networks
from stochlwta_tf.learners import PLATIPUS
from tests.helpers.small_tasks import finite_difference_error, image_tasks, line_task, slopes

tfd = tfp.distributions
KL, RATE, NOISE_STD, MIN_STD = 0.3, 0.05, 0.75, 1e-3
START = (0.4, -3.0, -2.0, -1.5, -2.5)  # mu, and the logs of sigma², v_q, gamma_p, gamma_q


def closed_form(mu, log_sigma2, log_vq, log_gamma_p, log_gamma_q, task, eps, steps):
    """The meta-loss of the one weight w of y = w x."""
    sx, sy, qx, qy = (t.numpy() for t in task[:4])

    def slope(w, x, y):
        return np.mean(x * (w * x - y)) / NOISE_STD**2

    prior = tfd.Normal(mu - np.exp(log_gamma_p) * slope(mu, sx, sy), np.exp(log_sigma2 / 2) + MIN_STD)
    posterior = tfd.Normal(mu - np.exp(log_gamma_q) * slope(mu, qx, qy), np.exp(log_vq / 2) + MIN_STD)
    w = posterior.loc.numpy() + posterior.scale.numpy() * eps
    for _ in range(steps):
        w = w - RATE * slope(w, sx, sy)
    nll = np.mean(0.5 * ((qy - w * qx) / NOISE_STD) ** 2) + np.log(NOISE_STD) + 0.5 * np.log(2 * np.pi)
    return (nll + KL * tfd.kl_divergence(posterior, prior).numpy()).item()


def groups(learner):
    return learner.network.trainable_variables, learner.log_sigma2, learner.log_vq, learner.log_gamma_p, learner.log_gamma_q


def one_weight(**options):
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    settings = {"inner_lr": RATE, "kl_weight": KL, "noise_std": NOISE_STD, "min_std": MIN_STD, **options}
    learner = PLATIPUS(network, likelihood="gaussian", **settings)
    for group, value in zip(groups(learner), START):
        group[0].assign([[value]])
    return learner


def test_the_meta_loss_and_its_gradient_are_those_of_the_closed_form(float64, inject_noise):
    learner = one_weight(inner_steps=2)
    left = inject_noise(np.full((1, 1), 0.7))
    gradient, (loss, _) = learner.task_update(*learner.current_values(), line_task())
    assert left == []
    assert float(loss) == pytest.approx(closed_form(*START, line_task(), 0.7, 2), rel=1e-9)
    expected = slopes(lambda *theta: closed_form(*theta, line_task(), 0.7, 2), START)
    np.testing.assert_allclose(np.ravel(learner.values_of(gradient, *groups(learner))), expected, rtol=1e-6)


def test_a_prediction_samples_the_prior_given_the_support_and_adapts_each_sample(float64):
    learner = one_weight(inner_steps=2, draws=500)
    task = line_task()
    x, y = task.support_x.numpy(), task.support_y.numpy()
    draws = learner.adapt_to(x, y).predict(np.ones((2, 1))).draws
    curvature = np.mean(x**2) / NOISE_STD**2
    best = np.sum(x * y) / np.sum(x**2)
    mean = 0.4 - np.exp(-1.5) * curvature * (0.4 - best)
    shrunk = (1 - RATE * curvature) ** 2  # a step on a quadratic loss shrinks the distance to its minimum
    np.testing.assert_array_equal(draws[:, 0], draws[:, 1])
    std = shrunk * (np.exp(-1.5) + MIN_STD)
    assert draws.mean() == pytest.approx(best + shrunk * (mean - best), abs=4 * std / 500**0.5)
    assert draws.std() == pytest.approx(std, rel=0.15)


@pytest.mark.slow
@pytest.mark.parametrize("batch_statistics", ["support", "transductive"])
def test_meta_gradient_through_convolutions_is_that_of_finite_differences(float64, batch_statistics):
    keras.utils.set_random_seed(0)
    network = networks.conv4((8, 8, 1), 3, filters=2, activation="tanh")
    learner = PLATIPUS(network, inner_lr=0.1, inner_steps=1, batch_statistics=batch_statistics)
    assert finite_difference_error(learner, image_tasks(), directions=1) < 1e-5


def test_five_times_the_parameters():
    network = networks.mlp((1,), 1)
    assert networks.trainable_parameters(PLATIPUS(network)) == 5 * networks.trainable_parameters(network)


def test_every_initial_variance_is_drawn_on_its_own():
    learner = PLATIPUS(networks.mlp((1,), 1, units=(30, 30, 30)))
    drawn = [v.numpy().ravel() for v in (*learner.log_sigma2, *learner.log_vq) if v.shape == (30, 30)]
    assert len(drawn) == 4 and np.abs(np.corrcoef(drawn) - np.eye(4)).max() < 0.2
    np.testing.assert_allclose([np.mean(drawn), np.std(drawn)], [-8, 0.2], rtol=0.05)


def test_the_smallest_std_keeps_the_kl_finite():
    learner = PLATIPUS(networks.mlp((1,), 1, units=(3,)), likelihood="gaussian", inner_steps=2)
    for v in learner.log_sigma2 + learner.log_vq:
        v.assign(tf.fill(v.shape, -50.0))
    gradient, (loss, _) = learner.task_update(*learner.current_values(), line_task("float32"))
    assert np.isfinite(loss) and all(np.isfinite(g).all() for g in gradient)
