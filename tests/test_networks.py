"""The networks: the paper's parameter counts, and every kind of unit with every kind of weight."""

import typing

import keras
import numpy as np
import pytest

from stochlwta_tf import networks, random
from stochlwta_tf.learners.functional import functional_call, with_noise_key

OMNIGLOT, MINI_IMAGENET = (28, 28, 1), (84, 84, 3)


def stored_statistics(network):
    """Parameters that are stored and not trained, apart from the noise generators' states."""
    return sum(int(np.prod(v.shape)) for v in network.non_trainable_variables if v.name != "seed_generator_state")


@pytest.mark.parametrize(
    ("make", "trainable", "stored"),
    [
        (lambda: networks.conv4(OMNIGLOT, 5), 113_221, 512),
        (lambda: networks.conv4(OMNIGLOT, 5, batch_norm_scale=False, head="average"), 112_005, 512),
        (lambda: networks.conv4(MINI_IMAGENET, 5, downsampling="max_pool"), 124_613, 512),
        (lambda: networks.mlp((1,), 1), 4_353, 0),
        (lambda: networks.dense_lwta(OMNIGLOT, 5, input_scale=True), 52_981, 1_568),
        (lambda: networks.dense_lwta(OMNIGLOT, 20, input_scale=True), 53_476, 1_568),
        (lambda: networks.dense_lwta(MINI_IMAGENET, 5, input_scale=True, max_pool=True), 382_261, 2 * 84 * 84 * 3),
    ],
)
def test_parameters_are_the_papers(make, trainable, stored):
    network = make()
    assert networks.trainable_parameters(network) == trainable
    assert stored_statistics(network) == stored


def kinds():
    for name, shape, options in (
        ("dense_lwta", (3,), {"blocks": (3, 2), "input_scale": True}),
        ("mlp", (3,), {"units": (6, 4)}),
        ("conv4", (6, 6, 1), {"filters": 4}),
    ):
        for activation in typing.get_args(networks.Activation):
            for weights in typing.get_args(networks.Weights):
                yield name, shape, {**options, "activation": activation, "weights": weights}


def predict(network, x):
    """The network's outputs under noise of a given key."""
    weights, state = ([v.value for v in variables] for variables in (network.trainable_variables, network.non_trainable_variables))
    return functional_call(network, weights, with_noise_key(network, state, random.key_from_seed(0)), x, training=False)[0]


@pytest.mark.parametrize(("name", "shape", "options"), list(kinds()))
def test_every_unit_goes_with_every_weight(name, shape, options, tmp_path):
    network = networks.NETWORKS[name](shape, 3, **options)
    x = np.random.default_rng(0).uniform(size=(4, *shape)).astype("float32")
    y = network(x, training=True)
    assert y.shape == (4, 3) and np.isfinite(y).all()
    stochastic = options["activation"] == "stochastic_lwta"
    layers = 5 if name == "conv4" else 3
    assert len(network.losses) == layers * (options["weights"] == "gaussian") + (layers - 1) * stochastic
    network.save(tmp_path / "network.keras")
    again = keras.saving.load_model(tmp_path / "network.keras")
    np.testing.assert_array_equal(predict(again, x), predict(network, x))


@pytest.fixture
def channels_first():
    """Keras as on a machine whose default is `channels_first`."""
    before = keras.config.image_data_format()
    keras.config.set_image_data_format("channels_first")
    yield
    keras.config.set_image_data_format(before)


def image_networks():
    for weights in typing.get_args(networks.Weights):
        for downsampling, head in (("stride", "flatten"), ("max_pool", "flatten"), ("max_pool", "average")):
            options = {"filters": 4, "downsampling": downsampling, "head": head, "weights": weights, "activation": "stochastic_lwta"}
            yield lambda o=options: networks.conv4((20, 12, 2), 3, **o)
        yield lambda w=weights: networks.dense_lwta((20, 12, 2), 3, blocks=(3,), weights=w, max_pool=True, input_scale=True)
    yield lambda: networks.mlp((20, 12, 2), 3, units=(4,))


@pytest.mark.parametrize("make", list(image_networks()))
def test_a_network_is_the_same_where_keras_defaults_to_channels_first(make, channels_first):
    other = make()
    keras.config.set_image_data_format("channels_last")
    network = make()
    assert [v.shape for v in other.weights] == [v.shape for v in network.weights]
    other.set_weights(network.get_weights())
    x = np.random.default_rng(0).uniform(size=(2, 20, 12, 2)).astype("float32")
    np.testing.assert_array_equal(predict(other, x), predict(network, x))


def test_options_reach_the_layers():
    options = {"temperature": 0.5, "test_temperature": 0.01, "probability_floor": 1e-4, "kl_estimator": "sample"}
    posterior = {"rho_min": -6.0, "predict_with": "mean"}
    network = networks.dense_lwta(
        (3,), 2, competitors=3, winners_kl_weight=0.2, weights_kl_weight=0.3, rho_initial=-4.0, bias_initial=0.5, **options, **posterior
    )
    units, hidden = network.get_layer("units1").get_config(), network.get_layer("hidden1")
    assert {**options, "competitors": 3, "kl_weight": 0.2}.items() <= units.items()
    assert {**posterior, "kl_weight": 0.3, "kl_estimator": "sample", "units": 48}.items() <= hidden.get_config().items()
    assert hidden.rho.numpy().mean() == pytest.approx(-4.0, abs=0.01)
    assert np.all(hidden.bias.numpy() == 0.5)
    assert networks.dense_lwta((3,), 2, competitors=4).get_layer("hidden2").units == 32  # R stays


def test_the_scale_of_batch_normalization_starts_where_it_is_told(tmp_path):
    network = networks.conv4((6, 6, 1), 2, filters=4, batch_norm_scale_initial=3.0)
    images = np.random.default_rng(0).normal(size=(50, 6, 6, 1)).astype("float32")
    spread = keras.Model(network.input, network.get_layer("normalization2").output)(images)
    np.testing.assert_allclose(np.std(spread, axis=(0, 1, 2)), 3.0, rtol=0.01)
    network.save(tmp_path / "a.keras")
    assert (
        keras.models.load_model(tmp_path / "a.keras").get_layer("normalization1").get_config()
        == network.get_layer("normalization1").get_config()
    )


def test_the_max_pool_is_that_of_the_image():
    network = networks.dense_lwta((4, 6, 1), 2, max_pool=True, input_scale=True, weights="point")
    image = np.random.default_rng(0).normal(size=(1, 4, 6, 1)).astype("float32")
    pooled = keras.Model(network.input, network.get_layer("hidden1").input)(image)
    expected = np.maximum(image, 0).reshape(2, 2, 3, 2).max((1, 3)) / np.sqrt(1.001)
    np.testing.assert_allclose(pooled, expected.reshape(1, 6), rtol=1e-6)


def test_conv4_without_a_scale_in_another_size():
    network = networks.conv4((12, 12, 3), 2, filters=4, downsampling="max_pool", head="average", batch_norm_scale=False)
    assert network.get_layer("pool4").output.shape == (None, 1, 1, 4)
    assert networks.conv4(OMNIGLOT, 5, filters=4).get_layer("convolution4").output.shape == (None, 2, 2, 4)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: networks.mlp((1,), 1, units=(9,), activation="stochastic_lwta"), "Received: competitors=2, units=9"),
        (lambda: networks.conv4(OMNIGLOT, 5, filters=7, activation="deterministic_lwta"), "Received: competitors=2, units=7"),
        (lambda: networks.conv4((28,), 5), r"Received: input_shape=\(28,\)"),
        (
            lambda: networks.conv4(OMNIGLOT, 5, batch_norm_scale=False, batch_norm_scale_initial=3.0),
            "Received: batch_norm_scale=False, batch_norm_scale_initial=3.0",
        ),
        (lambda: networks.dense_lwta((28,), 5, max_pool=True), r"Received: input_shape=\(28,\)"),
    ],
)
def test_an_impossible_network_is_named(make, message):
    with pytest.raises(ValueError, match=f"{message}$"):
        make()
