"""StochasticLWTA and DeterministicLWTA against NumPy, SciPy and TensorFlow Probability."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp
from scipy import special, stats

from stochlwta_tf.layers import DeterministicLWTA, StochasticLWTA

tfd = tfp.distributions
SHAPES = [(5, 12), (2, 3, 4, 12)]
each_shape = pytest.mark.parametrize("shape", SHAPES, ids=["vector", "feature map"])
each_size = pytest.mark.parametrize("j", [2, 3, 4])


def values(shape, dtype="float32"):
    return np.random.default_rng(0).normal(0, 1.5, shape).astype(dtype)


def uniforms(shape):
    return np.random.default_rng(1).uniform(size=shape).astype("float32")


@each_shape
@each_size
@pytest.mark.parametrize("floor", [0.0, 1e-2])
def test_training_is_the_relaxed_competition(inject_noise, shape, j, floor):
    x, u = values(shape), uniforms((*shape[:-1], 12 // j, j))
    inject_noise(u)
    layer = StochasticLWTA(j, temperature=0.5, probability_floor=floor)
    h = x.reshape(u.shape).astype("float64")
    q = special.softmax(h, -1) + floor
    q /= q.sum(-1, keepdims=True)
    xi = special.softmax((np.log(q) + stats.gumbel_r.ppf(u)) / 0.5, -1)
    np.testing.assert_allclose(layer(x, training=True), (xi * h).reshape(shape), atol=2e-5)
    assert float(layer.losses[0]) == pytest.approx(np.sum(q * np.log(q * j)), rel=1e-5)


@each_shape
@each_size
def test_prediction_lets_one_unit_of_a_block_pass(inject_noise, shape, j):
    x, u = values(shape), uniforms((*shape[:-1], 12 // j, j))
    inject_noise(u)
    h = x.reshape(u.shape)
    winner = np.argmax(h + stats.gumbel_r.ppf(u), -1)[..., None]
    expected = np.where(np.arange(j) == winner, h, 0)
    layer = StochasticLWTA(j)
    np.testing.assert_array_equal(layer(x), expected.reshape(shape))
    assert layer.losses == []


@each_size
def test_the_winners_have_their_probabilities(j):
    h = np.linspace(-0.7, 0.8, j).astype("float32")
    n = 20_000
    for floor in (0.0, 0.3):
        y = StochasticLWTA(j, seed=1, probability_floor=floor)(np.tile(h, (n // 10, 10))).numpy().reshape(n, j)
        counts = np.sum(y != 0, axis=0)
        q = special.softmax(h.astype("float64")) + floor
        assert counts.sum() == n
        assert stats.chisquare(counts, n * q / q.sum()).pvalue > 1e-3


@each_size
def test_the_relaxed_winners_have_the_concrete_distribution(j):
    n = 5000
    h = np.linspace(-0.7, 0.8, j).astype("float32")
    layer = StochasticLWTA(j, temperature=0.67, seed=2)
    ours = layer(np.tile(h, (n, 1)), training=True).numpy() / h
    theirs = tfd.RelaxedOneHotCategorical(0.67, logits=h).sample(n, seed=[1, 2]).numpy()
    for component in range(j):
        assert stats.ks_2samp(ours[:, component], theirs[:, component]).pvalue > 1e-3


def test_a_low_test_temperature_is_nearly_hard(inject_noise):
    x, u = values((5, 12)), uniforms((5, 6, 2))
    inject_noise(u, u)
    hard, relaxed = StochasticLWTA(2)(x), StochasticLWTA(2, test_temperature=1e-3)(x)
    np.testing.assert_allclose(relaxed, hard, atol=1e-3)


@each_shape
@pytest.mark.parametrize("j", [2, 3])
@pytest.mark.parametrize("floor", [0.0, 1e-2])
def test_the_kl_is_that_of_tfp(shape, floor, j):
    x = values(shape)
    layer = StochasticLWTA(j, kl_weight=0.5, probability_floor=floor)
    layer(x, training=True)
    posterior = layer.posterior(x)
    assert posterior.batch_shape == (*shape[:-1], 12 // j)
    expected = tf.reduce_sum(tfd.kl_divergence(posterior, tfd.Categorical(probs=np.full(j, 1 / j, "float32"))))
    assert float(layer.losses[0]) == pytest.approx(0.5 * float(expected), rel=1e-5)
    q = special.softmax(x.reshape(*shape[:-1], 12 // j, j), -1) + floor
    np.testing.assert_allclose(posterior.probs_parameter(), q / q.sum(-1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("j", [2, 3])
def test_the_sampled_kl_is_at_the_relaxed_winner(inject_noise, j):
    x, u = values((5, 12)), uniforms((5, 12 // j, j))
    inject_noise(u)
    layer = StochasticLWTA(j, kl_estimator="sample", temperature=0.5)
    layer(x, training=True)
    log_q = special.log_softmax(x.reshape(5, 12 // j, j).astype("float64"), -1)
    xi = special.softmax((log_q + stats.gumbel_r.ppf(u)) / 0.5, -1)
    assert float(layer.losses[0]) == pytest.approx(np.sum(xi * (log_q + np.log(j))), rel=1e-4)


def test_there_is_no_kl_without_its_weight():
    layer = StochasticLWTA(2, kl_weight=0.0)
    layer(values((5, 12)), training=True)
    assert layer.losses == []


def test_gradients_stay_finite_for_extreme_inputs():
    for estimator in ("closed_form", "sample"):
        layer = StochasticLWTA(2, kl_estimator=estimator)
        x = tf.constant([[1e4, -1e4, 300.0, 0.0], [0.0, 0.0, -1e4, -1e4]])
        with tf.GradientTape() as tape:
            tape.watch(x)
            y = layer(x, training=True)
            loss = tf.reduce_sum(y) + layer.losses[0]
        assert np.isfinite(loss)
        assert np.isfinite(tape.gradient(loss, x)).all()


@each_shape
@each_size
def test_deterministic_lwta_is_numpys(shape, j):
    x = values(shape)
    h = x.reshape(*shape[:-1], 12 // j, j)
    expected = np.where(h == h.max(-1, keepdims=True), h, 0).reshape(shape)
    np.testing.assert_array_equal(DeterministicLWTA(j)(x), expected)


def test_the_first_of_equals_wins():
    x = np.array([[2.0, 2.0, 2.0, -1.0, -1.0, -3.0]], "float32")
    np.testing.assert_array_equal(DeterministicLWTA(3)(x), [[2, 0, 0, -1, 0, 0]])


def test_the_gradient_of_deterministic_lwta_is_the_winners():
    x = tf.constant([[3.0, 1.0, -2.0, -1.0]])
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = DeterministicLWTA(2)(x) * [[1.0, 2.0, 3.0, 4.0]]
    np.testing.assert_array_equal(tape.gradient(y, x), [[1, 0, 0, 4]])


def test_eager_xla_and_vectorized_map_agree():
    x = values((3, 5, 12))
    for layer in (DeterministicLWTA(3), StochasticLWTA(3), StochasticLWTA(3, test_temperature=0.1)):

        def call(x):
            with keras.StatelessScope([(v, v.value) for v in layer.variables]):  # noqa: B023
                return layer(x)  # noqa: B023

        expected = np.stack([call(row) for row in x])
        mapped = tf.function(lambda x: tf.vectorized_map(call, x, fallback_to_while_loop=False), jit_compile=True)
        np.testing.assert_allclose(mapped(x), expected, atol=1e-5)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("options", [{}, {"probability_floor": 0.01}, {"test_temperature": 0.1}])
def test_a_large_map_of_pairs_agrees_with_one_operation_after_another(options, training):
    """In a graph it is one program, with derivatives of its own; eagerly it is operation by operation."""
    layer, x = StochasticLWTA(2, kl_weight=0.1, **options), tf.constant(values((2, 64, 64, 8)))

    def derivatives(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                with keras.StatelessScope([(v, v.value) for v in layer.variables], collect_losses=True) as scope:
                    y = layer(x, training=training)
                loss = tf.reduce_sum(tf.sin(y) * x) + sum(scope.losses)
            gradient = inner.gradient(loss, x)
            norm = tf.reduce_sum(gradient**2)
        return y, gradient, outer.gradient(norm, x)

    for fused, single in zip(tf.function(derivatives, autograph=False)(x), derivatives(x), strict=True):
        np.testing.assert_allclose(fused, single, rtol=1e-4, atol=1e-5 * np.abs(single).max())


@pytest.mark.parametrize("make", [DeterministicLWTA, StochasticLWTA])
@each_shape
def test_shapes_known_and_unknown(make, shape):
    layer = make(3)
    assert layer.compute_output_shape(shape) == shape
    symbolic = keras.Input((*(None,) * (len(shape) - 2), 12))
    model = keras.Model(symbolic, layer(symbolic))
    assert model.output_shape == symbolic.shape
    traced = tf.function(lambda x: model(x, training=True), input_signature=[tf.TensorSpec(symbolic.shape)])
    assert traced(values(shape)).shape == shape


@pytest.mark.parametrize("make", [DeterministicLWTA, StochasticLWTA])
def test_double_precision(float64, make):
    layer = make(2)
    y = layer(values((5, 12), "float64"), training=True)
    assert y.dtype == tf.float64
    assert all(loss.dtype == tf.float64 for loss in layer.losses)


def test_a_configuration_makes_the_same_layer():
    options = {
        "competitors": 3,
        "temperature": 0.5,
        "test_temperature": 0.01,
        "probability_floor": 1e-4,
        "kl_weight": 0.1,
        "kl_estimator": "sample",
        "seed": 4,
        "name": "winners",
    }
    layer = StochasticLWTA(**options)
    assert options.items() <= layer.get_config().items()
    again = StochasticLWTA.from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    np.testing.assert_array_equal(again(values((5, 12))), layer(values((5, 12))))
    assert DeterministicLWTA.from_config(DeterministicLWTA(4).get_config()).competitors == 4


def test_a_model_with_both_is_saved_and_loaded(tmp_path):
    model = keras.Sequential([keras.Input((12,)), StochasticLWTA(3, seed=1), DeterministicLWTA(2)])
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(values((5, 12))), model(values((5, 12))))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: StochasticLWTA(1), "`competitors` must be an integer of at least 2. Received: competitors=1"),
        (lambda: DeterministicLWTA(2.0), "Received: competitors=2.0"),
        (lambda: StochasticLWTA(2, temperature=0), "Received: temperature=0"),
        (lambda: StochasticLWTA(2, temperature=1e-38), "at least 1e-10. Received: temperature=1e-38"),
        (lambda: StochasticLWTA(2, test_temperature=1e-38), "or at least 1e-10. Received: test_temperature=1e-38"),
        (lambda: StochasticLWTA(2, test_temperature=-1), "Received: test_temperature=-1"),
        (lambda: StochasticLWTA(2, probability_floor=-1), "Received: probability_floor=-1"),
        (lambda: StochasticLWTA(2, kl_weight=-1), "Received: kl_weight=-1"),
        (lambda: StochasticLWTA(2, kl_estimator="both"), "Received: kl_estimator='both'"),
        (lambda: StochasticLWTA(5).build((None, 12)), "Received: competitors=5, units=12"),
        (lambda: DeterministicLWTA(5).build((None, 12)), "Received: competitors=5, units=12"),
    ],
)
def test_an_impossible_argument_is_named(make, message):
    with pytest.raises(ValueError, match=f"{message}$"):
        make()
