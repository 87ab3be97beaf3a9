"""MaxPooling2x2 against NumPy and Keras's own."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf.layers import MaxPooling2x2


@pytest.mark.parametrize("size", [(4, 6), (5, 7)])
def test_outputs_and_gradients_are_those_of_keras_also_where_pixels_are_equal(size):
    x = np.random.default_rng(0).integers(-1, 3, (3, *size, 2)).astype("float32")  # small integers: many are equal
    weights = np.random.default_rng(1).normal(size=(3, size[0] // 2, size[1] // 2, 2)).astype("float32")
    found = {}
    for layer in (MaxPooling2x2(), keras.layers.MaxPooling2D(2, data_format="channels_last")):
        with tf.GradientTape() as tape:
            tape.watch(values := tf.constant(x))
            outputs = layer(values)
            loss = tf.reduce_sum(weights * outputs**2)
        found[type(layer).__name__] = outputs.numpy(), tape.gradient(loss, values).numpy()
    even = x[:, : size[0] // 2 * 2, : size[1] // 2 * 2].reshape(3, size[0] // 2, 2, size[1] // 2, 2, 2)
    np.testing.assert_array_equal(found["MaxPooling2x2"][0], even.max((2, 4)))
    for ours, theirs in zip(*found.values(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_shapes_and_errors():
    layer = MaxPooling2x2(name="pool")
    assert layer.compute_output_shape((None, 84, 85, 3)) == (None, 42, 42, 3)
    assert MaxPooling2x2.from_config(layer.get_config()).name == "pool"
    with pytest.raises(ValueError, match="known height, width and channels"):
        MaxPooling2x2()(keras.Input((None, 8, 3)))
