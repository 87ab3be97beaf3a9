"""Likelihoods against NumPy, SciPy and TensorFlow Probability."""

import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special, stats

from stochlwta_tf import objectives
from stochlwta_tf.objectives import Categorical, Gaussian, LearnedGaussian

RANDOM = np.random.default_rng(0)
LOGITS = RANDOM.normal(0, 3, (2, 6, 4)).astype("float32")  # two draws of six examples
LABELS = RANDOM.integers(0, 4, 6).astype("int32")


def test_categorical_nll():
    expected = -tfp.distributions.Categorical(logits=LOGITS[0]).log_prob(LABELS)
    np.testing.assert_allclose(Categorical().nll(LABELS, LOGITS[0]), expected, rtol=1e-5)


def test_gaussian_nll_sums_over_outputs():
    y, outputs = RANDOM.normal(size=(2, 6, 3)).astype("float32")
    expected = -stats.norm.logpdf(y, outputs, 0.3).sum(-1)
    np.testing.assert_allclose(Gaussian(0.3).nll(y, outputs), expected, rtol=1e-5)


def test_draws_are_averaged_as_logits_or_as_probabilities():
    np.testing.assert_allclose(Categorical("logits").predictive(LOGITS), special.softmax(LOGITS.mean(0), -1), rtol=1e-5)
    np.testing.assert_allclose(Categorical("probabilities").predictive(LOGITS), special.softmax(LOGITS, -1).mean(0), rtol=1e-5)
    np.testing.assert_allclose(Gaussian().predictive(LOGITS), LOGITS.mean(0), rtol=1e-6)


def test_scores():
    probabilities = special.softmax(LOGITS[0], -1)
    assert float(Categorical().score(tf.constant(LABELS), probabilities)) == pytest.approx(np.mean(probabilities.argmax(-1) == LABELS))
    assert float(Gaussian().score(LOGITS[0], LOGITS[1])) == pytest.approx(np.mean((LOGITS[0] - LOGITS[1]) ** 2), rel=1e-5)


def test_the_probability_clip_clips_renormalises_and_stops_gradients():
    outputs, label = np.array([[30.0, 0.0, 1.0]]), np.array([1])
    p = np.clip(special.softmax(outputs, -1), 1e-7, 1 - 1e-7)
    x = tf.constant(outputs, tf.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        nll = Categorical(probability_clip=1e-7).nll(label, x)
    assert float(nll[0]) == pytest.approx(-np.log(p[0, 1] / p.sum()), rel=1e-6)
    np.testing.assert_array_equal(tape.gradient(nll, x), [[0, 0, 0]])
    np.testing.assert_allclose(
        Categorical(probability_clip=1e-7).nll(LABELS, LOGITS[0] / 5), Categorical().nll(LABELS, LOGITS[0] / 5), rtol=1e-5
    )


@pytest.mark.parametrize("likelihood", [Categorical("probabilities", 1e-7), Gaussian(0.5)])
def test_a_configuration_makes_the_same_likelihood(likelihood):
    assert type(likelihood).from_config(likelihood.get_config()).__dict__ == likelihood.__dict__


@pytest.mark.parametrize("likelihood", [Gaussian(), LearnedGaussian(1)])
def test_targets_that_would_broadcast_are_refused(likelihood):
    outputs = tf.ones([10, 2 if isinstance(likelihood, LearnedGaussian) else 1])
    for call in (lambda y: likelihood.nll(y, outputs), lambda y: likelihood.score(y, likelihood.predictive(outputs[None]))):
        call(tf.zeros([10, 1]))
        with pytest.raises(ValueError, match=r"Targets must have the shape of the means, \(10, 1\)\. Received: shape=\(10,\)$"):
            call(tf.zeros([10]))


def test_an_impossible_argument_is_named():
    with pytest.raises(ValueError, match="Received: average='votes'$"):
        Categorical("votes")
    with pytest.raises(ValueError, match="Received: noise_std=0$"):
        Gaussian(0)


def test_the_likelihood_is_the_fixed_one_at_the_same_std():
    rng = np.random.default_rng(0)
    y, f = rng.normal(size=(2, 5, 2)).astype("float32")
    outputs = tf.constant(np.stack([f, np.full((5, 2), 0.3, "float32")], -1).reshape(5, 4))
    np.testing.assert_allclose(objectives.LearnedGaussian(2).nll(y, outputs), objectives.Gaussian(0.3).nll(y, tf.constant(f)), rtol=1e-5)
    np.testing.assert_array_equal(objectives.LearnedGaussian(2).predictive(outputs[None]), f)
