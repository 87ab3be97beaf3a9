"""A two-dimensional convolution with Gaussian weights."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from stochlwta_tf.layers.gaussian_layer import GaussianLayer


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class GaussianConv2D(GaussianLayer):
    """Convolution y = x * w + b whose kernel is sampled from w ~ N(mean, softplus(rho)²) at every forward pass.

    Eq. 5 and 9 of Kalais & Chatzis (ICML 2022); see `GaussianLayer` for the sampling, the KL term and the remaining arguments.

    Args:
        filters: Positive integer, number of output channels.
        kernel_size: Positive integer, or a pair: height and width of the kernel in pixels.
        strides: Positive integer, or a pair: steps in pixels.
        padding: `"same"` or `"valid"`.
        **kwargs: Arguments of `GaussianLayer`.

    Input shape:
        `[batch, height, width, channels]`.

    Output shape:
        `[batch, new height, new width, filters]`.

    Raises:
        ValueError: If a size is not a positive integer, `padding` is neither of the two, or an argument of `GaussianLayer` is invalid.

    Example:

    >>> layer = GaussianConv2D(8, 3, strides=2, padding="same", seed=0)
    >>> layer(np.ones((2, 28, 28, 1), "float32"), training=True).shape
    TensorShape([2, 14, 14, 8])
    """

    def __init__(
        self, filters: int, kernel_size: int | Sequence[int], strides: int | Sequence[int] = 1, padding: str = "valid", **kwargs: Any
    ) -> None:
        super().__init__(**kwargs)
        if not isinstance(filters, int) or filters < 1:
            raise ValueError(f"`filters` must be a positive integer. Received: filters={filters!r}")
        if padding not in ("same", "valid"):
            raise ValueError(f"`padding` must be 'same' or 'valid'. Received: padding={padding!r}")
        self.filters = filters
        self.kernel_size = _pair("kernel_size", kernel_size)
        self.strides = _pair("strides", strides)
        self.padding = padding
        self.input_spec = keras.layers.InputSpec(ndim=4)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.add_gaussian_kernel((*self.kernel_size, input_shape[-1], self.filters), self.filters)
        self.input_spec = keras.layers.InputSpec(ndim=4, axes={-1: input_shape[-1]})

    def linear(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        return ops.conv(x, kernel, strides=self.strides, padding=self.padding, data_format="channels_last")

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        def size(n: int | None, kernel: int, stride: int) -> int | None:
            if n is None:
                return None
            return -(-n // stride) if self.padding == "same" else (n - kernel) // stride + 1

        spatial = (size(n, k, s) for n, k, s in zip(input_shape[1:3], self.kernel_size, self.strides))
        return (input_shape[0], *spatial, self.filters)

    def get_config(self) -> dict[str, Any]:
        config = {"filters": self.filters, "kernel_size": self.kernel_size, "strides": self.strides, "padding": self.padding}
        return {**super().get_config(), **config}


def _pair(argument: str, value: int | Sequence[int]) -> tuple[int, int]:
    pair = (value, value) if isinstance(value, int) else tuple(value)
    if len(pair) != 2 or not all(isinstance(n, int) and n > 0 for n in pair):
        raise ValueError(f"`{argument}` must be a positive integer or a pair of them. Received: {argument}={value!r}")
    return pair
