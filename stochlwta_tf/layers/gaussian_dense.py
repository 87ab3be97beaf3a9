"""A dense layer with Gaussian weights."""

from typing import Any

import keras
import tensorflow as tf
from keras import ops

from stochlwta_tf.layers.gaussian_layer import GaussianLayer


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class GaussianDense(GaussianLayer):
    """Dense layer y = x w + b whose weights are sampled from w ~ N(mean, softplus(rho)²) at every forward pass.

    Eq. 5 and 9 of Kalais & Chatzis (ICML 2022); see `GaussianLayer` for the sampling, the KL term and the remaining arguments.

    Args:
        units: Positive integer, number of outputs.
        **kwargs: Arguments of `GaussianLayer`.

    Input shape:
        `[..., features]`.

    Output shape:
        `[..., units]`.

    Raises:
        ValueError: If `units` is not a positive integer, or an argument of `GaussianLayer` is invalid.

    Example:

    >>> layer = GaussianDense(3, seed=0)
    >>> layer(np.ones((2, 4), "float32"), training=True).shape
    TensorShape([2, 3])
    >>> layer.posterior().event_shape
    TensorShape([4, 3])
    """

    def __init__(self, units: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not isinstance(units, int) or units < 1:
            raise ValueError(f"`units` must be a positive integer. Received: units={units!r}")
        self.units = units
        self.input_spec = keras.layers.InputSpec(min_ndim=2)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.add_gaussian_kernel((input_shape[-1], self.units), self.units)
        self.input_spec = keras.layers.InputSpec(min_ndim=2, axes={-1: input_shape[-1]})

    def linear(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return ops.matmul(x, kernel)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], self.units)

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "units": self.units}
