"""The largest of every 2×2 pixels."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class MaxPooling2x2(keras.layers.Layer):
    """y_ij = max(x_{2i,2j}, x_{2i,2j+1}, x_{2i+1,2j}, x_{2i+1,2j+1}), channel by channel.

    Outputs and gradients are those of `keras.layers.MaxPooling2D(2)`, which leaves out an odd last row or column; of equal pixels the
    first has the gradient.  As elementwise maxima XLA fuses them with their neighbours: its window reductions are slow on a CPU.

    Input shape:
        `[batch, height, width, channels]`.

    Output shape:
        `[batch, height // 2, width // 2, channels]`.

    Raises:
        ValueError: The input is not a batch of images of known size.

    Example:

    >>> MaxPooling2x2()(np.arange(16.0).reshape(1, 4, 4, 1))[0, :, :, 0]  # [[5, 7], [13, 15]]
    """

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.input_spec = keras.layers.InputSpec(ndim=4)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        if None in input_shape[1:]:
            raise ValueError(f"The input must have a known height, width and channels. Received: input_shape={input_shape}")

    def call(self, x: tf.Tensor) -> tf.Tensor:
        height, width, channels = x.shape[1] // 2, x.shape[2] // 2, x.shape[3]
        pixels = ops.reshape(x[:, : 2 * height, : 2 * width], (-1, height, 2, width, 2, channels))
        upper = ops.maximum(pixels[:, :, 0, :, 0], pixels[:, :, 0, :, 1])
        lower = ops.maximum(pixels[:, :, 1, :, 0], pixels[:, :, 1, :, 1])
        return ops.maximum(upper, lower)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        batch, height, width, channels = input_shape
        return batch, height and height // 2, width and width // 2, channels
