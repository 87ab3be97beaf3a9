"""MAML and FOMAML against finite differences and hand-written gradients."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks
from stochlwta_tf.learners import FOMAML, MAML
from stochlwta_tf.learners.maml import head_weights
from tests.helpers.small_tasks import finite_difference_error, image_tasks, one, point_tasks

LWTA = {"activation": "stochastic_lwta", "winners_kl_weight": 0.1}


@pytest.mark.parametrize(
    ("steps", "options"),
    [
        (3, {"learn_inner_rates": True, "multi_step_loss": True}),
        pytest.param(2, {"inner_clip_norm": 0.1}, marks=pytest.mark.slow),
        pytest.param(1, {}, marks=pytest.mark.slow),
    ],
)
def test_meta_gradient_is_that_of_finite_differences(float64, steps, options):
    keras.utils.set_random_seed(0)
    network = networks.mlp((1,), 1, units=(6,), **LWTA)
    learner = MAML(network, likelihood="gaussian", inner_lr=0.05, inner_steps=steps, runner="loop", **options)
    assert finite_difference_error(learner, point_tasks("float64")) < 1e-5


@pytest.mark.parametrize("batch_statistics", ["transductive", pytest.param("support", marks=pytest.mark.slow)])
def test_meta_gradient_through_convolutions_and_batch_normalization(float64, batch_statistics):
    keras.utils.set_random_seed(0)
    network = networks.conv4((8, 8, 1), 3, filters=4, activation="tanh")
    learner = MAML(network, inner_lr=0.1, inner_steps=2, batch_statistics=batch_statistics)
    assert finite_difference_error(learner, image_tasks()) < 1e-5


def test_first_order_is_the_gradient_at_the_adapted_weights():
    keras.utils.set_random_seed(0)
    network = networks.mlp((1,), 1, units=(6,), activation="tanh")
    settings = {"likelihood": "gaussian", "inner_lr": 0.05, "inner_steps": 3}
    tasks = point_tasks()

    def loss(weights, x, y):
        h = x
        h = tf.tanh(h @ weights[0] + weights[1]) @ weights[2] + weights[3]
        return tf.reduce_mean(0.5 * tf.square(y - h)) + 0.5 * np.log(2 * np.pi)

    expected = [np.zeros(v.shape) for v in network.trainable_variables]
    for i in range(4):
        weights = [tf.convert_to_tensor(v) for v in network.trainable_variables]
        for _ in range(3):
            with tf.GradientTape() as tape:
                tape.watch(weights)
                value = loss(weights, tasks.support_x[i], tasks.support_y[i])
            weights = [w - 0.05 * g for w, g in zip(weights, tape.gradient(value, weights))]
        with tf.GradientTape() as tape:
            tape.watch(weights)
            value = loss(weights, tasks.query_x[i], tasks.query_y[i])
        expected = [e + g.numpy() / 4 for e, g in zip(expected, tape.gradient(value, weights))]

    first = FOMAML(network, **settings).meta_gradient(tasks)[0]
    second = MAML(network, **settings).meta_gradient(tasks)[0]
    for e, g in zip(expected, first):
        np.testing.assert_allclose(g, e, rtol=1e-4, atol=1e-6)
    assert max(float(tf.reduce_max(tf.abs(a - b))) for a, b in zip(first, second)) > 1e-2


def test_first_order_learns_rates_as_from_their_gradient_alone():
    """With learned rates the steps are unrolled; at the same rates the weights' meta-gradient is that of the loop."""
    keras.utils.set_random_seed(0)
    network = networks.mlp((1,), 1, units=(6,), activation="tanh")
    settings = dict(likelihood="gaussian", inner_lr=0.05, inner_steps=3, runner="loop")
    loop, unrolled = (FOMAML(network, **settings, learn_inner_rates=learned) for learned in (False, True))
    gradients = [learner.values_of(learner.meta_gradient(point_tasks())[0], network.trainable_variables)[0] for learner in (loop, unrolled)]
    for own, other in zip(*gradients, strict=True):
        np.testing.assert_allclose(own, other, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize(("kind", "grows"), [(FOMAML, False), (MAML, True)])
def test_the_program_of_first_order_steps_does_not_grow_with_their_number(kind, grows):
    def operations(steps):
        network = networks.mlp((1,), 1, units=(6,))
        learner = kind(network, likelihood="gaussian", inner_steps=steps, runner="loop")
        traced = tf.function(learner.task_update).get_concrete_function(*learner.current_values(), one(point_tasks(), 0))
        graph = traced.graph.as_graph_def()
        return len(graph.node) + sum(len(function.node_def) for function in graph.library.function)

    assert (operations(4) > operations(2)) == grows


@pytest.mark.parametrize("kind", [FOMAML, MAML])
def test_a_zero_head_becomes_the_mean_difference_of_the_features(kind):
    """One step from zeros in closed form: w = rate / n Σ φ(x) (onehot(y) − 1/N), b = 0 for as many examples of each class."""
    keras.utils.set_random_seed(0)
    network = networks.mlp((8,), 3, units=(6,), activation="tanh", bias_initial=0.3)
    learner = kind(network, inner_lr=0.5, zero_head=True, learn_inner_rates=True)
    x, y = np.random.default_rng(0).normal(size=(6, 8)).astype("float32"), np.array([0, 1, 2, 2, 1, 0], "int32")
    adapted, _ = learner.adapt(*learner.current_values(), x, y, tf.constant([0, 1], tf.uint32), steps=1)
    features = np.tanh(x @ network.weights[0] + network.weights[1])
    np.testing.assert_allclose(adapted[2], 0.5 / 6 * features.T @ (np.eye(3)[y] - 1 / 3), atol=1e-6)
    np.testing.assert_allclose(adapted[3], np.zeros(3), atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"weights": "gaussian", "predict_with": "mean", "rho_initial": -30.0, "rho_min": None}])
def test_with_a_zero_head_classes_may_be_numbered_in_any_order(options):
    keras.utils.set_random_seed(0)
    network = networks.mlp((8,), 4, units=(6,), bias_initial=0.3, weights_kl_weight=0.0, **options)
    learner = FOMAML(network, inner_lr=0.5, inner_steps=3, zero_head=True)
    numbers = np.random.default_rng(0)
    x, query = numbers.normal(size=(2, 8, 8)).astype("float32")
    y, order = np.arange(8) % 4, np.array([2, 0, 3, 1])
    plain, renumbered = (learner.adapt_to(x, labels).predict(query).mean for labels in (y, order[y]))
    assert np.ptp(plain) > 0.01
    np.testing.assert_allclose(renumbered[:, order], plain, atol=1e-5)


def test_a_zero_head_is_refused_where_there_is_none():
    with pytest.raises(ValueError, match="Received: zero_head=True, likelihood='gaussian'"):
        MAML(networks.mlp((1,), 1), likelihood="gaussian", zero_head=True)
    x = keras.Input((4,))
    no_head = keras.Model(x, keras.layers.Reshape((3,))(keras.layers.Conv1D(1, 2)(keras.layers.Reshape((4, 1))(x))))
    with pytest.raises(ValueError, match="last layer with weights is its head"):
        MAML(no_head, zero_head=True)


def test_the_head_is_what_the_output_comes_from():
    inner = keras.Sequential([keras.layers.Dense(3, "relu"), keras.layers.Dense(3)])
    nested = keras.Sequential([keras.Input((4,)), keras.layers.Dense(5), inner, keras.layers.Dropout(0.1)])
    assert [v.path for v in head_weights(nested, 3)] == [v.path for v in inner.layers[-1].trainable_variables]
    assert head_weights(nested, 5) == []

    class Backwards(keras.Model):
        def __init__(self, width):
            super().__init__()
            self.head, self.body = keras.layers.Dense(3), keras.layers.Dense(width)

        def call(self, x):
            return self.head(self.body(x))

    for width, found in ((5, 2), (3, 0)):  # with as many hidden units as classes either could be the head
        network = Backwards(width)
        network(tf.zeros((1, 4)))
        assert [v.path for v in head_weights(network, 3)] == [v.path for v in network.head.trainable_variables][:found]


def test_a_zero_head_has_no_meta_gradient_however_it_is_computed():
    task = one(image_tasks("float32"), 0)
    learner = FOMAML(networks.mlp((8, 8, 1), 3, units=(6,)), inner_steps=2, zero_head=True)
    looped, _ = learner.task_update(*learner.current_values(), task)
    unrolled, _ = learner.update_by(learner.meta_loss, *learner.current_values(), task)
    assert np.abs(looped[0]).max() > 0 and not np.any(looped[2]) and not np.any(looped[3])
    for ours, other in zip(looped, unrolled, strict=True):
        np.testing.assert_allclose(ours, other, atol=1e-5)


def test_impossible_order():
    with pytest.raises(ValueError, match="Received: order=3"):
        MAML(networks.mlp((1,), 1), order=3)


def test_the_multi_step_loss_is_the_mean_of_the_losses_after_each_step():
    network, task = networks.mlp((1,), 1, units=(4,)), one(point_tasks(), 0)
    options = {"likelihood": "gaussian", "inner_lr": 0.05}

    def loss(**more):
        learner = MAML(network, **options, **more)
        return float(learner.meta_loss(*learner.current_values(), task)[0])

    assert loss(inner_steps=3, multi_step_loss=True) == pytest.approx(np.mean([loss(inner_steps=k) for k in (1, 2, 3)]), rel=1e-5)
