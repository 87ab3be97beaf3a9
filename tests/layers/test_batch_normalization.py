"""BatchNormalization against NumPy and finite differences, in first and second order."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf.layers import BatchNormalization, stored_statistics

EPSILON = 1e-3
SHAPES = [(6, 3), (2, 4, 5, 3)]


def values(shape, seed=0):
    return np.random.default_rng(seed).normal(2.0, 3.0, shape)


def normalized(x, statistics_of, gamma=1.0, beta=0.0):
    axes = tuple(range(x.ndim - 1))
    return gamma * (x - statistics_of.mean(axes)) / np.sqrt(statistics_of.var(axes) + EPSILON) + beta


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("training", [False, True])
def test_it_normalises_by_the_batch_whatever_training_says(shape, training):
    x = values(shape).astype("float32")
    layer = BatchNormalization()
    layer.build(shape)
    layer.gamma.assign([0.5, 1.0, 2.0])
    layer.beta.assign([-1.0, 0.0, 3.0])
    expected = normalized(x, x, np.array([0.5, 1.0, 2.0]), np.array([-1.0, 0.0, 3.0]))
    np.testing.assert_allclose(layer(x), expected, atol=2e-5)
    model = keras.Sequential([keras.Input(shape[1:]), layer])
    np.testing.assert_allclose(model(x, training=training), expected, atol=2e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_stored_statistics_are_those_of_the_last_batch_outside(shape):
    x, other = values(shape).astype("float32"), values(shape, seed=1).astype("float32")
    layer = BatchNormalization(scale=False)
    with stored_statistics():  # those of a new layer: 0 and 1
        np.testing.assert_allclose(layer(x), x / np.sqrt(1 + EPSILON), rtol=1e-5)
    layer(x)
    np.testing.assert_allclose(layer.mean, x.mean(tuple(range(x.ndim - 1))), rtol=1e-5)
    np.testing.assert_allclose(layer.variance, x.var(tuple(range(x.ndim - 1))), rtol=1e-5)
    with stored_statistics():
        np.testing.assert_allclose(layer(other), normalized(other, x), atol=2e-5)
        np.testing.assert_allclose(layer(other[:1]), normalized(other[:1], x), atol=2e-5)
    np.testing.assert_allclose(layer(other), normalized(other, other), atol=2e-5)


def test_the_context_ends_with_an_error():
    layer, x = BatchNormalization(), values((6, 3)).astype("float32")
    with pytest.raises(RuntimeError), stored_statistics():
        raise RuntimeError
    np.testing.assert_allclose(layer(x), normalized(x, x), atol=2e-5)


def meta_gradient(layer, x, kernel, rate):
    """The gradient of a loss after one gradient step on the kernel in front of the layer: it needs second derivatives."""

    def loss(kernel):
        return tf.reduce_sum(tf.sin(layer(tf.matmul(x, kernel))) ** 2 * tf.range(1.0, 19.0, dtype=tf.float64)[:, None])

    with tf.GradientTape() as outer:
        outer.watch(kernel)
        with tf.GradientTape() as inner:
            inner.watch(kernel)
            value = loss(kernel)
        after = loss(kernel - rate * inner.gradient(value, kernel))
    return after, outer.gradient(after, kernel)


def test_the_second_derivative_agrees_with_finite_differences(float64):
    layer = BatchNormalization()
    x, kernel = values((18, 4)), values((4, 3), seed=1)
    _, gradient = meta_gradient(layer, tf.constant(x), tf.constant(kernel), 0.05)
    step = 1e-6
    numeric = np.empty_like(kernel)
    for i in np.ndindex(kernel.shape):
        shift = np.zeros_like(kernel)
        shift[i] = step
        up, down = (meta_gradient(layer, tf.constant(x), tf.constant(k), 0.05)[0] for k in (kernel + shift, kernel - shift))
        numeric[i] = (up - down) / (2 * step)
    np.testing.assert_allclose(gradient, numeric, rtol=1e-5, atol=1e-6)


def moments(layer, x):
    """The output, mean and variance of a call, as functions of its input."""
    with keras.StatelessScope([]) as scope:
        y = layer(x)
    return y, scope.get_current_value(layer.mean), scope.get_current_value(layer.variance)


def derivatives(dtype):
    """First and second derivatives of a loss that images of single precision compute in another way than double precision."""
    layer = BatchNormalization(dtype=dtype)
    layer.build((None, None, None, 3))
    x, along = (tf.constant(values((4, 2, 3, 3), seed), dtype) for seed in (0, 1))
    with tf.GradientTape() as outer:
        outer.watch(x)
        with tf.GradientTape() as inner:
            inner.watch(x)
            y, mean, variance = moments(layer, x)
            loss = tf.reduce_sum(tf.sin(y) * along) + tf.reduce_sum(mean * variance**2)
        first = inner.gradient(loss, x)
        product = tf.reduce_sum(first * along)
    return loss, first, outer.gradient(product, x)


def test_images_have_the_derivatives_of_the_formula():
    for single, double in zip(derivatives("float32"), derivatives("float64"), strict=True):
        np.testing.assert_allclose(single, double, rtol=1e-4, atol=1e-5 * np.abs(double).max())


def test_one_pixel_is_its_own_mean():
    y, mean, variance = moments(BatchNormalization(), tf.fill([1, 1, 1, 3], 7.0))
    np.testing.assert_array_equal([*y[0, 0], mean, variance], [[0] * 3, [7] * 3, [0] * 3])


def test_weights_shapes_and_configuration():
    layer = BatchNormalization(scale=False, epsilon=0.01, name="normal")
    layer.build((None, None, 4))
    assert [v.name for v in layer.trainable_variables] == ["beta"]
    assert {v.name for v in layer.non_trainable_variables} == {"mean", "variance"}
    again = BatchNormalization.from_config(layer.get_config())
    assert (again.scale, again.epsilon, again.name) == (False, 0.01, "normal")
    symbolic = keras.Input((None, 4))
    assert layer(symbolic).shape == (None, None, 4)
    traced = tf.function(BatchNormalization(), input_signature=[tf.TensorSpec([None, None, 4])])
    assert traced(tf.ones([2, 3, 4])).shape == (2, 3, 4)


def test_a_model_with_it_is_saved_and_loaded_with_its_statistics(tmp_path):
    model = keras.Sequential([keras.Input((3,)), BatchNormalization()])
    x = values((6, 3)).astype("float32")
    model(x)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    with stored_statistics():
        np.testing.assert_array_equal(again(x + 1), model(x + 1))


def test_an_impossible_argument_is_named():
    with pytest.raises(ValueError, match="Received: epsilon=0$"):
        BatchNormalization(epsilon=0)
