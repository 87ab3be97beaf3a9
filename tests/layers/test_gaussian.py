"""GaussianDense and GaussianConv2D against NumPy, TensorFlow Probability and Monte Carlo."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import random
from stochlwta_tf.layers import GaussianConv2D, GaussianDense
from tests.helpers.gaussian_layers import LAYERS, each_layer, inputs, spread, std


def convolve(x, kernel, stride):
    """A convolution with "same" padding, written out."""
    (_, height, width, _), (rows, columns, _, filters) = x.shape, kernel.shape
    out = [-(-n // stride) for n in (height, width)]
    pads = [max((o - 1) * stride + k - n, 0) for o, k, n in zip(out, (rows, columns), (height, width))]
    x = np.pad(x, ((0, 0), *((p // 2, p - p // 2) for p in pads), (0, 0)))
    y = np.zeros((len(x), *out, filters))
    for i in range(out[0]):
        for j in range(out[1]):
            patch = x[:, i * stride : i * stride + rows, j * stride : j * stride + columns]
            y[:, i, j] = np.einsum("nhwc,hwcf->nf", patch, kernel)
    return y


@pytest.mark.parametrize("training", [False, True])
def test_dense_is_a_product_with_one_sampled_matrix(inject_noise, training):
    layer, x = spread(GaussianDense(4, bias_initializer=0.2), (5, 3)), inputs((5, 3))
    noise = inputs((3, 4))
    inject_noise(noise)
    expected = x @ (layer.mean.numpy() + std(layer) * noise) + 0.2
    np.testing.assert_allclose(layer(x, training=training), expected, atol=1e-6)


def test_convolution_is_one_with_one_sampled_kernel(inject_noise):
    make, shape = LAYERS[1]
    layer, x = spread(make(use_bias=False), shape), inputs(shape)
    noise = inputs((3, 2, 3, 4))
    inject_noise(noise)
    expected = convolve(x, layer.mean.numpy() + std(layer) * noise, 2)
    np.testing.assert_allclose(layer(x, training=True), expected, atol=1e-5)


@each_layer
def test_prediction_with_the_mean_draws_nothing(inject_noise, make, shape):
    layer, x = spread(make(predict_with="mean"), shape), inputs(shape)
    inject_noise()
    expected = x @ layer.mean.numpy() if len(shape) == 2 else convolve(x, layer.mean.numpy(), 2)
    np.testing.assert_allclose(layer(x), expected + 0.1, atol=1e-5)


@each_layer
def test_local_reparameterization_has_the_outputs_mean_and_variance(inject_noise, make, shape):
    layer, x = spread(make(reparameterization="local", use_bias=False), shape), inputs(shape)
    linear = np.matmul if len(shape) == 2 else lambda x, kernel: convolve(x, kernel, 2)
    mean, variance = linear(x, layer.mean.numpy()), linear(x**2, std(layer) ** 2)
    for noise in (-1.0, 2.0):
        inject_noise(np.full(mean.shape, noise, "float32"))
        np.testing.assert_allclose(layer(x, training=True), mean + noise * np.sqrt(variance), atol=1e-5)
    inject_noise(*np.random.default_rng(2).normal(size=(400, *layer.mean.shape)).astype("float32"))
    outputs = np.stack([layer(x) for _ in range(400)])  # prediction samples kernels, which have the same two moments
    np.testing.assert_allclose(outputs.mean(0), mean, atol=5 * np.sqrt(variance.max() / 400))
    np.testing.assert_allclose(outputs.var(0), variance, rtol=0.4)


def test_the_gradient_of_local_reparameterization_is_finite_at_zero_inputs():
    layer = GaussianDense(4, reparameterization="local")
    x = tf.zeros([2, 3])
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = tf.reduce_sum(layer(x, training=True))
    assert all(np.isfinite(g).all() for g in tape.gradient(loss, [x, layer.mean.value, layer.rho.value], unconnected_gradients="zero"))


def test_each_call_draws_a_new_kernel_and_a_seed_repeats_them():
    x = inputs((2, 3))
    first, second = GaussianDense(4, seed=3), GaussianDense(4, seed=3)
    spread(first, x.shape), spread(second, x.shape)
    draws = [first(x).numpy() for _ in range(3)]
    np.testing.assert_array_equal(draws, [second(x) for _ in range(3)])
    assert not np.allclose(draws[0], draws[1]) and not np.allclose(draws[1], draws[2])


def test_all_examples_see_the_same_kernel():
    layer = spread(GaussianDense(4), (2, 3))
    y = layer(np.ones((2, 3), "float32"), training=True).numpy()
    np.testing.assert_array_equal(y[0], y[1])


def test_the_initial_posterior_and_the_bound_of_rho():
    layer = GaussianDense(50, rho_initializer=-4.0, rho_min=-4.5, bias_initializer=0.3)
    layer.build((None, 40))
    assert layer.rho.numpy().mean() == pytest.approx(-4.0, abs=0.001)
    assert layer.rho.numpy().std() == pytest.approx(0.01, rel=0.1)
    assert np.all(layer.bias.numpy() == np.float32(0.3))
    np.testing.assert_allclose(layer.rho.constraint(tf.constant([-9.0, -4.5, 1.0])), [-4.5, -4.5, 1.0])
    optimizer = keras.optimizers.SGD(1.0)
    optimizer.apply([tf.ones([40, 50])], [layer.rho])
    assert layer.rho.numpy().min() == -4.5
    layer = GaussianDense(2, rho_min=None, use_bias=False)
    layer.build((None, 2))
    assert layer.rho.constraint is None and layer.bias is None


@each_layer
def test_shapes_known_and_unknown(make, shape):
    inputs_ = keras.Input(shape[1:])
    layer = make(seed=0)
    outputs = layer(inputs_)
    model = keras.Model(inputs_, outputs)
    y = model(inputs(shape), training=True)
    assert outputs.shape == (None, *y.shape[1:])
    assert layer.compute_output_shape(shape) == tuple(y.shape)
    local = make(reparameterization="local")
    traced = tf.function(lambda x: local(x, training=True), input_signature=[tf.TensorSpec([None, *shape[1:]])])
    assert traced(inputs(shape)).shape == y.shape
    if len(shape) == 4:
        unknown = keras.Input((None, None, 3))
        assert make()(unknown).shape == (None, None, None, 4)
        assert GaussianConv2D(4, 3).compute_output_shape((None, 7, 8, 3)) == (None, 5, 6, 4)
        assert GaussianConv2D(4, 3)(inputs((1, 7, 8, 3))).shape == (1, 5, 6, 4)
    else:
        assert GaussianDense(4)(inputs((2, 5, 3))).shape == (2, 5, 4)


@each_layer
def test_double_precision(float64, make, shape):
    for options in ({}, {"reparameterization": "local"}, {"kl_estimator": "sample"}, {"predict_with": "mean"}):
        layer = make(**options)
        assert layer(inputs(shape, "float64"), training=True).dtype == tf.float64
        assert layer.losses[0].dtype == tf.float64
        assert layer(inputs(shape, "float64")).dtype == tf.float64


@each_layer
def test_a_configuration_makes_the_same_layer(make, shape):
    options = {
        "use_bias": False,
        "mean_initializer": "glorot_normal",
        "rho_initializer": -3.0,
        "rho_min": None,
        "kl_weight": 0.5,
        "kl_estimator": "sample",
        "predict_with": "mean",
        "seed": 7,
        "name": "posterior",
    }
    layer = make(**options)
    layer(inputs(shape))
    again = type(layer).from_config(layer.get_config())
    assert again.get_config() == layer.get_config()
    again.build((None, *shape[1:]))
    again.set_weights(layer.get_weights())
    np.testing.assert_array_equal(again(inputs(shape)), layer(inputs(shape)))


@each_layer
def test_a_model_with_it_is_saved_and_loaded(make, shape, tmp_path):
    model = keras.Sequential([keras.Input(shape[1:]), make(seed=1)])
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(inputs(shape)), model(inputs(shape)))
    assert again.layers[0].rho.constraint.minimum == -7.0


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: GaussianDense(0), "`units` must be a positive integer. Received: units=0"),
        (lambda: GaussianDense(2.5), "Received: units=2.5"),
        (lambda: GaussianDense(2, kl_estimator="both"), "Received: kl_estimator='both'"),
        (lambda: GaussianDense(2, reparameterization="none"), "Received: reparameterization='none'"),
        (lambda: GaussianDense(2, predict_with="mode"), "Received: predict_with='mode'"),
        (lambda: GaussianDense(2, kl_weight=-1), "Received: kl_weight=-1"),
        (
            lambda: GaussianDense(2, kl_estimator="sample", reparameterization="local"),
            "Received: kl_estimator='sample', reparameterization='local'",
        ),
        (lambda: GaussianConv2D(0, 3), "Received: filters=0"),
        (lambda: GaussianConv2D(2, 0), "Received: kernel_size=0"),
        (lambda: GaussianConv2D(2, (3, 3, 3)), r"Received: kernel_size=\(3, 3, 3\)"),
        (lambda: GaussianConv2D(2, 3, strides="two"), "Received: strides='two'"),
        (lambda: GaussianConv2D(2, 3, padding="full"), "Received: padding='full'"),
    ],
)
def test_an_impossible_argument_is_named(make, message):
    with pytest.raises(ValueError, match=f"{message}$"):
        make()


def test_the_noise_comes_from_the_layers_key():
    """What a learner relies on: the key in the generator's state decides the kernel."""
    layer = spread(GaussianDense(4), (2, 3))
    key = random.fold_in(random.key_from_seed(5), 1)
    layer.noise.state.assign(tf.cast(key, layer.noise.state.dtype))
    expected = layer.mean + std(layer).astype("float32") * random.normal(key, (3, 4))
    np.testing.assert_allclose(layer(np.eye(3, dtype="float32")), expected + 0.1, atol=1e-6)


@pytest.mark.parametrize("argument", ["rho_initializer", "rho_min"])
def test_a_rho_whose_exponential_overflows_is_refused(argument):
    with pytest.raises(ValueError, match=rf"`{argument}` must be at most 88, .* Received: {argument}=89$"):
        GaussianDense(2, **{argument: 89})
    layer = GaussianDense(2, rho_initializer=88, rho_min=None)
    layer.build((None, 3))
    np.testing.assert_allclose(layer.stddev, layer.rho, rtol=1e-6)
