"""A trainable scale and shift of every input feature."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class InputScale(keras.layers.Layer):
    """y = gamma (x − mean) / sqrt(variance + epsilon) + beta, feature by feature, with constant mean and variance.

    What the paper's published code does to its input: a batch normalisation that is always in inference mode and whose statistics never
    move from 0 and 1, so that gamma and beta start at the identity (up to sqrt(1 + epsilon)).  The two statistics are stored, not
    trained; setting them to a data set's standardises the input.

    Args:
        epsilon: Positive number added to the variance.

    Input shape:
        `[batch, features]`.

    Output shape:
        The input's.

    Raises:
        ValueError: If `epsilon` is not positive.

    Example:

    >>> InputScale()(np.ones((2, 784), "float32"))  # 0.9995, until it is trained
    """

    def __init__(self, epsilon: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if epsilon <= 0:
            raise ValueError(f"`epsilon` must be positive. Received: epsilon={epsilon}")
        self.epsilon = epsilon
        self.input_spec = keras.layers.InputSpec(ndim=2)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (input_shape[-1],)
        own = {"shape": shape, "autocast": False}  # a small variance would be 0 in half precision
        self.gamma = self.add_weight(initializer="ones", name="gamma", **own)
        self.beta = self.add_weight(initializer="zeros", name="beta", **own)
        self.mean = self.add_weight(initializer="zeros", trainable=False, name="mean", **own)
        self.variance = self.add_weight(initializer="ones", trainable=False, name="variance", **own)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = ops.cast(x, self.variable_dtype)
        scaled = (x - self.mean) * (self.gamma * ops.rsqrt(self.variance + self.epsilon)) + self.beta
        return ops.cast(scaled, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "epsilon": self.epsilon}
