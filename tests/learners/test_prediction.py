"""Predictions and their uncertainty, beside SciPy, TFP and a network run by hand."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special, stats

from stochlwta_tf import networks
from stochlwta_tf.learners import Prediction, StochLWTA

DRAWS = np.random.default_rng(0).normal(0, 2, (6, 4, 5))
COLUMNS = np.array([0, 2, 3])
CLASSES = Prediction(
    np.where(np.isin(range(5), COLUMNS), special.softmax(np.where(np.isin(range(5), COLUMNS), DRAWS.mean(0), -np.inf), -1), 0),
    DRAWS, None, np.array(["cat", "fox", "owl"]), COLUMNS,
)  # fmt: skip
TARGETS = Prediction(DRAWS.mean(0), DRAWS, 0.5)


def test_labels_are_those_of_the_most_probable_class_among_the_support_sets():
    assert CLASSES.probabilities.shape == (4, 3)
    np.testing.assert_allclose(CLASSES.probabilities.sum(-1), 1)
    assert CLASSES.labels.tolist() == [["cat", "fox", "owl"][i] for i in DRAWS.mean(0)[:, COLUMNS].argmax(-1)]


def test_entropy_and_mutual_information_are_scipys():
    each = special.softmax(DRAWS[..., COLUMNS], -1)
    np.testing.assert_allclose(CLASSES.entropy, stats.entropy(CLASSES.probabilities, axis=-1))
    expected = stats.entropy(each.mean(0), axis=-1) - stats.entropy(each, axis=-1).mean(0)
    np.testing.assert_allclose(CLASSES.mutual_information, expected)
    assert CLASSES.mutual_information.min() > 0
    one = CLASSES._replace(draws=DRAWS[:1])
    np.testing.assert_allclose(one.mutual_information, 0, atol=1e-12)
    np.testing.assert_allclose(CLASSES.std, each.std(0))


@pytest.mark.parametrize("noise_std", [0.5, np.random.default_rng(1).uniform(0.1, 2, DRAWS.shape)])
def test_std_and_interval_are_those_of_the_mixture(noise_std):
    prediction = TARGETS._replace(noise_std=noise_std)
    noise = np.broadcast_to(noise_std, DRAWS.shape)
    components = tfp.distributions.Normal(np.moveaxis(DRAWS, 0, -1), np.moveaxis(noise, 0, -1))
    mixture = tfp.distributions.MixtureSameFamily(tfp.distributions.Categorical(probs=np.full(6, 1 / 6)), components)
    np.testing.assert_allclose(prediction.std, mixture.stddev(), rtol=1e-6)
    low, high = prediction.interval(0.8)
    np.testing.assert_allclose(mixture.cdf(low), 0.1, atol=1e-6)
    np.testing.assert_allclose(mixture.cdf(high), 0.9, atol=1e-6)


@pytest.mark.parametrize("name", ["labels", "probabilities", "entropy", "mutual_information"])
def test_what_is_of_classes_is_not_of_targets(name):
    with pytest.raises(ValueError, match="is for classification. Received: predictions of targets"):
        getattr(TARGETS, name)


def test_an_interval_is_of_targets_and_of_a_mass_between_0_and_1():
    with pytest.raises(ValueError, match="`interval` is for regression. Received: predictions of classes"):
        CLASSES.interval()
    for mass in (0, 1, 90):
        with pytest.raises(ValueError, match=f"`mass` must be between 0 and 1. Received: mass={mass}"):
            TARGETS.interval(mass)


def classifier():
    keras.utils.set_random_seed(0)
    return StochLWTA(networks.mlp((3,), 5, units=(8,)), inner_lr=0.1, inner_steps=3)


X = np.random.default_rng(2).normal(size=(6, 3)).astype("float32")


def test_names_are_numbers_in_their_alphabetical_order():
    named = classifier().adapt_to(X, ["owl", "cat", "owl", "fox", "cat", "fox"]).predict(X)
    numbered = classifier().adapt_to(X, [2, 0, 2, 1, 0, 1]).predict(X)
    assert named.classes.tolist() == ["cat", "fox", "owl"] and numbered.classes.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(named.mean, numbered.mean)
    column = np.array(["owl", "cat", "owl", "fox", "cat", "fox"], object)  # as pandas has it
    np.testing.assert_array_equal(classifier().adapt_to(X, column).predict(X).mean, numbered.mean)
    assert named.labels.tolist() == [["cat", "fox", "owl"][i] for i in numbered.labels]


def test_outputs_without_a_class_have_no_probability():
    learner = classifier()
    adapted = learner.adapt_to(X, [4, 1, 4, 1, 4, 1])
    prediction = adapted.predict(X)
    twin = keras.models.clone_model(learner.network)
    for variable, value in zip(twin.trainable_variables, adapted.adapted, strict=True):
        variable.assign(value)
    np.testing.assert_allclose(prediction.probabilities, tf.nn.softmax(tf.gather(twin(X), [1, 4], axis=1)), atol=1e-5)
    assert (prediction.mean[:, [0, 2, 3]] == 0).all() and set(prediction.labels) <= {1, 4}


def test_more_classes_than_outputs_say_what_to_do():
    with pytest.raises(ValueError, match="at most 5 classes, .*leave some out, or train with a larger task.way. Received: 6 classes"):
        classifier().adapt_to(X, list("abcdef"))
    with pytest.raises(ValueError, match="must hold 6 labels, one for each support input: names, or integers from 0 to 4"):
        classifier().adapt_to(X, [0, 1, 2, 3, 4, 5])
