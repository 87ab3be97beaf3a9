"""Dtype policies: every learner works in those that it takes, statistics and KLs in full precision, and others are refused in one line."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks
from stochlwta_tf.layers import BatchNormalization, GaussianDense, StochasticLWTA
from stochlwta_tf.learners import LEARNERS, MAML, Reptile
from stochlwta_tf.learners.precision import gradient
from tests.helpers.small_learners import WAY, point_classes, point_mlp
from tests.helpers.small_tasks import image_tasks, one, point_tasks


@pytest.fixture
def policy():
    """`policy(name)` sets Keras's dtype policy for a test."""
    floatx, before = keras.config.floatx(), keras.config.dtype_policy()
    yield keras.config.set_dtype_policy
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(before)


def regression(name):
    keras.utils.set_random_seed(0)
    kind = {"weights": "gaussian", "rho_initial": -3.0} if name == "stochlwta" else {"weights": "point"}
    learner = LEARNERS[name](
        networks.dense_lwta((1,), 1, blocks=(4,), **kind),
        likelihood="gaussian",
        learn_noise_std=True,
        inner_lr=0.003,
        inner_steps=2,
        runner="loop",
    )
    learner.compile("adam")
    return learner


def meta_gradient(learner, tasks):
    """As one vector, eagerly: of the first task."""
    parts, (loss, _) = learner.task_update(*learner.current_values(), one(tasks, 0))
    return np.concatenate([g.numpy().ravel() for g in parts]), loss


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in ("abml", "bmaml", "platipus") else n for n in LEARNERS])
def test_every_learner_has_the_meta_gradient_of_full_precision(name, policy):
    """Against float32, whose meta-gradients others of our tests compare with finite differences."""
    tasks, full = point_tasks(), regression(name)  # the tasks are float32 whatever the policy, as our data sets are
    expected, _ = meta_gradient(full, tasks)
    for kind, error in (("mixed_float16", 0.02), ("mixed_bfloat16", 0.1), ("float64", 1e-3)):
        policy(kind)
        learner = regression(name)
        learner.set_weights(full.get_weights())
        got, loss = meta_gradient(learner, tasks)
        assert got.dtype == loss.dtype == ("float64" if kind == "float64" else "float32")
        assert np.linalg.norm(got - expected) < error * np.linalg.norm(expected), kind


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        pytest.param("maml", "mixed_bfloat16", marks=pytest.mark.slow),
        pytest.param("stochlwta", "mixed_float16", marks=pytest.mark.slow),
        pytest.param("reptile", "float64", marks=pytest.mark.slow),
    ],
)
def test_learners_fit_validate_adapt_save_and_load_under_a_policy(name, kind, policy, tmp_path):
    policy(kind)
    learner, tasks = regression(name), point_tasks()
    data = tf.data.Dataset.from_tensors(tasks._asdict())
    logs = learner.fit(data, validation_data=data, verbose=0).history
    assert all(np.isfinite(values).all() for values in logs.values())
    x, y = tasks.support_x[0].numpy(), tasks.support_y[0].numpy()
    prediction = learner.adapt_to(x, y).predict(x)
    assert prediction.mean.dtype == ("float64" if kind == "float64" else "float32") and prediction.noise_std.dtype == prediction.mean.dtype
    learner.save(tmp_path / "model.keras")
    policy("float32")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.adapt_to(x, y).predict(x).draws, prediction.draws)


def test_the_wrong_gradient_of_bfloat16_is_refused(policy):
    policy("mixed_bfloat16")
    with pytest.raises(ValueError, match="is wrong in bfloat16; .* Received: layer=convolution4, dtype policy mixed_bfloat16"):
        MAML(networks.conv4((8, 8, 1), 3, filters=4))
    policy("mixed_float16")
    MAML(networks.conv4((8, 8, 1), 3, filters=4))


@pytest.mark.parametrize("kind", ["mixed_float16", "mixed_bfloat16"])
def test_convolutions_and_batch_statistics_learn_in_half_precision(kind, policy):
    tasks = image_tasks("float32")
    x, query_x = (np.kron(images, np.ones((2, 2, 1), "float32")) for images in (tasks.support_x, tasks.query_x))  # 16x16
    tasks = tasks._replace(support_x=tf.constant(x), query_x=tf.constant(query_x))

    def made():
        return MAML(networks.conv4((16, 16, 1), 3, filters=4, activation="tanh"), inner_steps=1)

    full = made()
    expected, _ = meta_gradient(full, tasks)
    policy(kind)
    learner = made()
    learner.set_weights(full.get_weights())
    got, _ = meta_gradient(learner, tasks)
    assert np.dot(got, expected) > 0.95 * np.linalg.norm(got) * np.linalg.norm(expected)


def test_batch_statistics_are_of_full_precision(policy):
    policy("mixed_float16")
    x = np.float16(1000 + np.random.default_rng(0).normal(size=(500, 3)))
    layer = BatchNormalization()
    y = layer(x)
    exact = np.float64(x)
    np.testing.assert_allclose(layer.mean, exact.mean(0), rtol=1e-6)
    np.testing.assert_allclose(layer.variance, exact.var(0), rtol=1e-3)
    np.testing.assert_allclose(y, (exact - exact.mean(0)) / np.sqrt(exact.var(0) + 1e-3), atol=5e-3)
    assert y.dtype == "float16"


def test_kl_terms_are_of_full_precision(policy):
    policy("mixed_float16")
    keras.utils.set_random_seed(0)
    layer = GaussianDense(64, rho_initializer=-7.0)
    layer(np.ones((2, 64)), training=True)
    mean, std = np.float64(layer.mean.numpy()), np.log1p(np.exp(np.float64(layer.rho.numpy())))
    assert float(layer.losses[0]) == pytest.approx(np.sum(0.5 * (std**2 + mean**2 - 1) - np.log(std)), rel=1e-6)
    h = np.random.default_rng(0).normal(size=(400, 8)).astype("float16")
    units = StochasticLWTA(2)
    units(h, training=True)
    blocks = np.float64(h).reshape(400, 4, 2)
    q = np.exp(blocks) / np.exp(blocks).sum(-1, keepdims=True)
    assert float(units.losses[0]) == pytest.approx(np.sum(q * np.log(2 * q)), rel=1e-5)


@pytest.mark.parametrize("temperature", [1e-10, 1e-3])
def test_winners_of_low_temperature_are_finite_in_half_precision(temperature, policy):
    policy("mixed_float16")
    y = StochasticLWTA(2, temperature=temperature, seed=0)(np.ones((50, 4)), training=True)
    assert np.isfinite(y).all()


def test_small_gradients_do_not_vanish_in_half_precision(policy):
    """1e-7 is below the normal numbers of float16, where it has one bit."""
    policy("mixed_float16")
    learner = Reptile(point_mlp())
    x = tf.constant(np.random.default_rng(0).normal(size=(5, 2)), tf.float32)
    psi, state = learner.current_values()
    with tf.GradientTape() as tape:
        tape.watch(psi)
        outputs, _, _ = learner.call_network(psi, state, x, tf.constant([0, 1], tf.uint32), training=True)
        loss = 1.3e-7 * tf.reduce_sum(outputs) / 5
    np.testing.assert_allclose(learner.gradient(tape, loss, psi)[-1], np.full(WAY, 1.3e-7), rtol=0.02)  # of the last bias


def test_a_factor_on_the_way_leaves_first_and_second_derivatives():
    w = tf.constant(1.5, tf.float64)
    with tf.GradientTape() as outer:
        outer.watch(w)
        with tf.GradientTape() as inner:
            inner.watch(w)
            y = w**3
        first = gradient(inner, y, w, factor=8.0)
    np.testing.assert_allclose([first, gradient(outer, first, w, factor=8.0)], [3 * 1.5**2, 6 * 1.5])


@pytest.mark.parametrize("kind", ["float16", "bfloat16"])
def test_weights_of_half_precision_are_refused(kind, policy):
    policy(kind)
    with pytest.raises(ValueError, match=rf"must all be float32 or all float64.*mixed_bfloat16 are possible. Received: {kind}$"):
        MAML(point_mlp())


def test_weights_of_two_types_are_refused():
    network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, dtype="float64"), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match="Received: float32, float64$"):
        MAML(network)


def test_an_optimizer_that_divides_by_a_scale_is_refused(policy):
    policy("mixed_float16")
    learner = MAML(point_mlp(), inner_steps=1)
    with pytest.raises(ValueError, match="give it the optimizer itself. Received: LossScaleOptimizer$"):
        learner.compile(keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1)))
    with pytest.raises(ValueError, match="Received: loss_scale_factor=128"):
        learner.compile(keras.optimizers.SGD(0.1, loss_scale_factor=128))
    learner.compile(keras.optimizers.SGD(0.1))  # Keras would wrap it under this policy
    tasks = point_classes(2)
    before = learner.get_weights()
    found = [g.numpy() for g in learner.meta_gradient(tasks)[0]]
    learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    for new, old, g in zip(learner.get_weights(), before, found):
        np.testing.assert_allclose(new, old - 0.1 * g, atol=1e-5)


def test_keras_epsilon_changes_no_number():
    tasks = image_tasks("float32")
    keras.utils.set_random_seed(0)
    learner = MAML(networks.conv4((8, 8, 1), 3, filters=2), inner_steps=1)
    expected, _ = meta_gradient(learner, tasks)
    epsilon = keras.config.epsilon()
    keras.config.set_epsilon(0.1)
    try:
        np.testing.assert_array_equal(meta_gradient(learner, tasks)[0], expected)
    finally:
        keras.config.set_epsilon(epsilon)
