"""InputScale against NumPy."""

import keras
import numpy as np
import pytest

from stochlwta_tf.layers import InputScale

X = np.random.default_rng(0).uniform(size=(4, 3)).astype("float32")


def test_it_starts_at_the_identity_and_scales_each_feature():
    layer = InputScale()
    np.testing.assert_allclose(layer(X), X / np.sqrt(1.001), rtol=1e-6)
    gamma, beta, mean, variance = np.random.default_rng(1).uniform(0.5, 2.0, (4, 3))
    layer.set_weights([gamma, beta, mean, variance])
    np.testing.assert_allclose(layer(X), gamma * (X - mean) / np.sqrt(variance + 1e-3) + beta, rtol=1e-5)


def test_scale_and_shift_are_trained_and_the_statistics_stored():
    layer = InputScale()
    layer.build((None, 3))
    assert [v.name for v in layer.trainable_variables] == ["gamma", "beta"]
    assert [v.name for v in layer.non_trainable_variables] == ["mean", "variance"]


def test_a_model_with_it_is_saved_and_loaded(tmp_path):
    layer = InputScale(epsilon=0.1)
    model = keras.Sequential([keras.Input((3,)), layer])
    assert model.output_shape == (None, 3)
    layer.gamma.assign([1.0, 2.0, 3.0])
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again(X), model(X))
    assert again.layers[0].get_config() == layer.get_config()


def test_double_precision(float64):
    assert InputScale()(X.astype("float64")).dtype == "float64"


def test_what_is_wrong_is_named():
    with pytest.raises(ValueError, match="Received: epsilon=-1$"):
        InputScale(epsilon=-1)
    with pytest.raises(ValueError, match="expected ndim=2, found ndim=3"):
        InputScale()(X[None])
