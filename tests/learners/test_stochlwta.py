"""StochLWTA-ML against the negative ELBO written out."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf.learners import StochLWTA
from tests.helpers.small_learners import SUPPORT, WAY, point_classes, tiny_lwta
from tests.helpers.small_tasks import one

tfd = tfp.distributions


def test_stochlwta_descends_the_negative_elbo(inject_noise):
    learner = StochLWTA(
        tiny_lwta(rho_initial=-2.0, rho_min=-1.99, winners_kl_weight=0.5, weights_kl_weight=0.01), inner_lr=0.05, inner_steps=2
    )
    task = one(point_classes(1), 0)
    values = np.random.default_rng(3)
    shapes = [(2, 4), (SUPPORT, 2, 2), (4, WAY)]  # of a step: hidden kernel, winners, output kernel
    draws = [[values.uniform(0.05, 0.95, s) if s == shapes[1] else values.normal(size=s) for s in shapes] for _ in range(2)]
    draws = [[d.astype("float32") for d in step] for step in draws]
    psi, state = learner.current_values()

    weights = [tf.cast(w, tf.float64) for w in psi]
    x, y = tf.cast(task.support_x, tf.float64), task.support_y
    for eps1, u, eps2 in draws:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            mean1, rho1, bias1, mean2, rho2, bias2 = weights
            std1, std2 = tf.nn.softplus(rho1), tf.nn.softplus(rho2)
            h = tf.reshape(x @ (mean1 + std1 * eps1) + bias1, [SUPPORT, 2, 2])
            xi = tf.nn.softmax((tf.math.log(tf.nn.softmax(h)) - tf.math.log(-tf.math.log(tf.cast(u, tf.float64)))) / 0.67)
            logits = tf.reshape(xi * h, [SUPPORT, 4]) @ (mean2 + std2 * eps2) + bias2
            prior = tfd.Normal(tf.zeros([], tf.float64), 1.0)
            weights_kl = sum(tf.reduce_sum(tfd.kl_divergence(tfd.Normal(m, s), prior)) for m, s in ((mean1, std1), (mean2, std2)))
            winners_kl = tf.reduce_sum(tfd.kl_divergence(tfd.Categorical(logits=h), tfd.Categorical(logits=tf.zeros_like(h))))
            loss = -tf.reduce_sum(tfd.Categorical(logits=logits).log_prob(y)) + 0.5 * winners_kl + 0.01 * weights_kl
        weights = [w - 0.05 * g for w, g in zip(weights, tape.gradient(loss, weights))]
        for rho in (1, 4):
            weights[rho] = tf.maximum(weights[rho], tf.constant(-1.99, tf.float64))

    left = inject_noise(*(d for step in draws for d in step))
    gradient, (last_loss, _) = learner.task_update(psi, state, task)
    assert left == []
    assert 0 < np.mean(weights[1] == -1.99) < 1  # the constraint on rho acts
    for before, expected, g in zip(psi, weights, gradient):
        np.testing.assert_allclose(before - g, expected, atol=2e-6)
    assert float(last_loss) == pytest.approx(float(loss), rel=1e-5)


def test_adapting_learns_the_support_set():
    x = np.array([[2.0, 0.0], [-2.0, 2.0], [-2.0, -2.0]], "float32")
    learner = StochLWTA(tiny_lwta(weights_kl_weight=0.0, winners_kl_weight=0.0), inner_lr=0.1, inner_steps=1, test_inner_steps=100)
    mean = learner.adapt_to(x, np.arange(3)).predict(x).mean
    assert mean.argmax(-1).tolist() == [0, 1, 2]
