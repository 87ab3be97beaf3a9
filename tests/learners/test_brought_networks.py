"""Networks that people bring: recurrent, with noise, embeddings, attention, subclassed, with a frozen backbone, ending in a softmax."""

import warnings

import keras
import numpy as np
import pytest
import tensorflow as tf
from keras import layers

from stochlwta_tf import networks, random
from stochlwta_tf.layers.model_shapes import shapes_of
from stochlwta_tf.learners import BMAML, FOMAML, MAML, Reptile
from stochlwta_tf.learners.task_runner import TaskRunner
from stochlwta_tf.learners.vectorizable import compiles
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_learners import point_mlp
from tests.helpers.small_tasks import one


class Subclassed(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.hidden, self.head = layers.Dense(4, activation="tanh"), layers.Dense(3)

    def call(self, x):
        return self.head(self.hidden(x))


class Scaled(layers.Layer):
    """A layer of a user's own, which can be vectorised."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(shape[-1],), initializer="ones")

    def call(self, x):
        return x * self.scale


class OwnLoop(layers.Layer):
    """A layer of a user's own whose number of steps is known only at run time: neither XLA nor vectorisation takes its gradient."""

    def build(self, shape):
        self.scale = self.add_weight(shape=(), initializer="ones")

    def call(self, x):
        steps = tf.cast(tf.reduce_sum(tf.abs(x)) * 0.0, tf.int32) + 2
        return tf.while_loop(lambda i, _: i < steps, lambda i, h: (i + 1, h * self.scale), (0, x))[1]


def sequential(shape, *stack):
    return keras.Sequential([keras.Input(shape), *stack])


def subclassed(shape):
    network = Subclassed()
    network(np.zeros((1, *shape), "float32"))
    return network


def attentive(shape):
    x = keras.Input(shape)
    return keras.Model(x, layers.Dense(3)(layers.Flatten()(layers.MultiHeadAttention(2, 3)(x, x))))


NETWORKS = {
    "lstm": ((3, 2), lambda s: sequential(s, layers.LSTM(3), layers.Dense(3))),
    "gru": ((3, 2), lambda s: sequential(s, layers.Bidirectional(layers.GRU(2)), layers.Dense(3))),
    "noise": ((4,), lambda s: sequential(s, layers.GaussianNoise(0.1), layers.Dense(4), layers.Dropout(0.5), layers.Dense(3))),
    "embedding": ((3,), lambda s: sequential(s, layers.Embedding(5, 2), layers.Flatten(), layers.Dense(3))),
    "attention": ((3, 4), attentive),
    "subclassed": ((4,), subclassed),
    "own layer": ((4,), lambda s: sequential(s, Scaled(), layers.Dense(3))),
    "own loop": ((4,), lambda s: sequential(s, OwnLoop(), layers.Dense(3))),
}


def task_batch(shape, whole):
    rng = np.random.default_rng(0)
    x = (rng.integers(0, 5, (2, 4, *shape)) if whole else rng.normal(size=(2, 4, *shape))).astype("float32")
    y = rng.integers(0, 3, (2, 4)).astype("int32")
    return Task(*(tf.constant(t) for t in (x, y, x, y)), random.split(random.key_from_seed(0), 2))


@pytest.mark.parametrize("kind", [pytest.param(kind, marks=() if kind in ("noise", "own loop") else pytest.mark.slow) for kind in NETWORKS])
def test_auto_finds_a_runner_that_trains_tests_and_adapts(kind):
    shape, make = NETWORKS[kind]
    keras.utils.set_random_seed(0)
    learner = FOMAML(make(shape), inner_steps=1)
    learner.compile("sgd")
    tasks = task_batch(shape, whole=kind == "embedding")
    data = tf.data.Dataset.from_tensors(tasks._asdict())
    psi, state = learner.current_values()
    found = learner.meta_gradient(tasks)[0]
    if kind == "noise":  # whose numbers under XLA are others than eagerly
        tf.nest.map_structure(np.testing.assert_array_equal, learner.meta_gradient(tasks)[0], found)
        assert not np.allclose(learner.meta_gradient(tasks._replace(key=tasks.key[::-1]))[0][0], found[0])
    else:
        eager = [learner.task_update(psi, state, one(tasks, i))[0] for i in range(2)]
        for got, first, second in zip(found, *eager, strict=True):
            np.testing.assert_allclose(got, (first + second) / 2, atol=1e-4)
    learner.fit(data, verbose=0)
    assert np.isfinite(learner.evaluate(data, verbose=0)[0])
    adapted = learner.adapt_to(tasks.support_x[0].numpy(), tasks.support_y[0].numpy())
    assert adapted.predict(tasks.query_x[0, :2].numpy()).mean.shape == (2, 3)


def test_networks_without_loops_of_their_own_are_vectorised():
    def vectorized(kind):
        shape, make = NETWORKS[kind]
        return TaskRunner.for_network(make(shape)).vectorized

    assert [kind for kind in NETWORKS if not vectorized(kind)] == ["lstm", "gru", "attention", "own loop"]


def test_known_layers_need_no_trial(monkeypatch):
    def tried(*_):
        raise AssertionError

    monkeypatch.setattr("stochlwta_tf.learners.vectorizable._compiles", tried)
    for network in (point_mlp(activation="stochastic_lwta", weights="gaussian"), networks.dense_lwta((4, 4, 1), 3, max_pool=True)):
        assert compiles(network, vectorized=True)


def test_a_recurrent_network_is_not_vectorised_by_force():
    shape, make = NETWORKS["lstm"]
    with pytest.raises(ValueError, match="use runner='loop' or 'auto'. Received: runner='vectorized'$"):
        MAML(make(shape), runner="vectorized")


def test_second_derivatives_of_a_recurrent_network():
    """The mean over tasks in a compiled loop, of what each task has eagerly."""
    shape, make = NETWORKS["lstm"]
    learner = MAML(make(shape), inner_steps=1, inner_lr=0.5)
    tasks = task_batch(shape, whole=False)
    psi, state = learner.current_values()
    eager = [learner.task_update(psi, state, one(tasks, i))[0] for i in range(2)]
    for got, first, second in zip(learner.meta_gradient(tasks)[0], *eager, strict=True):
        np.testing.assert_allclose(got, (first + second) / 2, atol=1e-5)


def test_particles_of_a_subclassed_network_differ():
    learner = BMAML(subclassed((4,)), particles=2)
    own, others = learner.network.trainable_variables[0], learner.others[0]
    assert others.shape == (1, *own.shape) and not np.allclose(own, others[0])


def test_particles_need_a_network_that_can_be_made_again():
    class Fixed(Subclassed):
        def __init__(self):
            super().__init__()

    network = Fixed()
    network(np.zeros((1, 4), "float32"))
    with pytest.raises(ValueError, match=r"pass \*\*kwargs on to keras.Model, or implement get_config. Received: <Fixed .*>$"):
        BMAML(network, particles=2)


def test_the_shapes_of_a_network_however_it_is_written():
    assert shapes_of(subclassed((4,))) == ((4,), 3)
    assert shapes_of(NETWORKS["lstm"][1]((None, 2))) == ((None, 2), 3)
    with pytest.raises(ValueError, match="be called once on an example before it is wrapped. Received: <Subclassed"):
        shapes_of(Subclassed())
    two = [keras.Input((2,)), keras.Input((3,))]
    with pytest.raises(ValueError, match=r"Received: inputs=\(None, 2\), \(None, 3\), outputs=\(None, 5\)$"):
        MAML(keras.Model(two, layers.Dense(5)(layers.Concatenate()(two))))
    with pytest.raises(ValueError, match=r"outputs=\(None, 4, 3\)$"):
        MAML(sequential((4, 2), layers.Dense(3)))


def backbone():
    keras.utils.set_random_seed(0)
    pretrained = sequential((6, 6, 1), layers.Conv2D(3, 3), layers.BatchNormalization(), layers.ReLU(), layers.GlobalAveragePooling2D())
    x = 3 + 2 * np.random.default_rng(0).normal(size=(40, 6, 6, 1))
    pretrained.compile("sgd", "mse")
    pretrained.fit(x, np.zeros((40, 3)), epochs=3, verbose=0)  # its moving averages are of data
    return pretrained


@pytest.mark.slow
def test_a_frozen_backbone_is_a_constant_in_inference_mode(tmp_path):
    pretrained = backbone()
    with pytest.raises(ValueError, match=r"or frozen \(`trainable=False`\), as in a pretrained backbone. Received: <BatchNormalization"):
        Reptile(sequential((6, 6, 1), pretrained, layers.Dense(3)))
    pretrained.trainable = False
    learner = Reptile(sequential((6, 6, 1), pretrained, layers.Dense(3)), inner_lr=0.1, inner_steps=3)
    learner.compile("sgd")
    tasks = task_batch((6, 6, 1), whole=False)
    before = [v.numpy() for v in learner.network.non_trainable_variables]
    learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    x, y = tasks.support_x[0].numpy(), tasks.support_y[0].numpy()
    adapted = learner.adapt_to(x, y)
    for old, variable in zip(before, learner.network.non_trainable_variables, strict=True):
        np.testing.assert_array_equal(variable, old)

    features = pretrained(x, training=False).numpy()  # then a linear classifier on constant features, by hand
    kernel, bias = (v.numpy() for v in learner.network.trainable_variables)
    for _ in range(3):
        logits = features @ kernel + bias
        p = np.exp(logits) / np.exp(logits).sum(-1, keepdims=True)
        kernel, bias = kernel - 0.1 * features.T @ (p - np.eye(3)[y]), bias - 0.1 * (p - np.eye(3)[y]).sum(0)
    np.testing.assert_allclose(adapted.adapted[0], kernel, atol=1e-5)
    np.testing.assert_allclose(adapted.predict(x).draws[0], features @ kernel + bias, atol=1e-5)
    learner.save(tmp_path / "model.keras")
    np.testing.assert_array_equal(
        keras.saving.load_model(tmp_path / "model.keras").adapt_to(x, y).predict(x).draws, adapted.predict(x).draws
    )


@pytest.mark.parametrize(
    ("head", "last"),
    [
        ([layers.Dense(3, activation="softmax")], "softmax"),
        ([layers.Dense(3), layers.Softmax()], "softmax"),
        ([layers.Dense(3), layers.Activation("sigmoid")], "sigmoid"),
        ([keras.Sequential([layers.Dense(3, activation="softmax")])], "softmax"),
    ],
)
def test_a_classifier_that_ends_in_probabilities_is_warned_of(head, last):
    with pytest.warns(UserWarning, match=f"must end in logits.*Received: a last layer with activation='{last}'$"):
        MAML(sequential((4,), layers.Dense(4), *head))


def test_no_other_network_is_warned_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MAML(sequential((4,), layers.Dense(4, activation="softmax"), layers.Dense(3)))
        MAML(sequential((4,), layers.Dense(1, activation="sigmoid")), likelihood="gaussian")
        MAML(subclassed((4,)))
