"""Batch normalisation that can be differentiated twice and that keeps no moving averages."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf
from keras import ops

_stored = contextvars.ContextVar("stored_statistics", default=False)


@contextlib.contextmanager
def stored_statistics() -> Iterator[None]:
    """Within this context `BatchNormalization` normalises by the statistics of the last batch that it saw outside."""
    token = _stored.set(True)
    try:
        yield
    finally:
        _stored.reset(token)


def check_normalization(network: keras.Model) -> None:
    """Refuses a network with a trainable batch normalisation of Keras at any depth.

    A frozen one, as in a pretrained backbone, normalises by constants.

    Raises:
        ValueError: It has one that is trainable.  Its moving averages would mix tasks.
    """
    for layer in network._flatten_layers():  # Keras has no public way to the layers in layers
        if isinstance(layer, keras.layers.BatchNormalization) and layer.trainable:
            raise ValueError(
                "Batch normalisation must be `stochlwta_tf.layers.BatchNormalization`, whose statistics are one task's, or frozen "
                f"(`trainable=False`), as in a pretrained backbone. Received: {layer}"
            )


def normalizes(network: keras.Model) -> bool:
    """Whether a network has a `BatchNormalization` at any depth, so that it matters whose statistics a query has."""
    return any(isinstance(layer, BatchNormalization) for layer in network._flatten_layers())


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class BatchNormalization(keras.layers.Layer):
    """y = gamma (x − mean) / sqrt(variance + epsilon) + beta, over all axes but the last.

    Ioffe & Szegedy (2015), for few-shot learning:

    - The moments are ordinary operations.  Those of `keras.layers.BatchNormalization` stop the gradient of the mean, which keeps first
      derivatives correct but makes second ones, and with them MAML's meta-gradient, wrong by tens of per cent.
    - The statistics are always those of one batch: of the batch at hand (which are kept) or, within `stored_statistics()`, those kept
      last.  A learner thus normalises queries by their own statistics (transductive) or the support set's.  The `training` argument, which
      elsewhere decides temperatures and KL terms, has no effect here.

    Args:
        scale: Whether to multiply by a trainable gamma.
        epsilon: Positive number added to the variance.

    Input shape:
        `[batch, ..., channels]`.

    Output shape:
        The input's.

    Raises:
        ValueError: If `epsilon` is not positive.

    Example:

    >>> layer = BatchNormalization()
    >>> layer(support_x)
    >>> with stored_statistics():
    ...     layer(query_x)  # normalised by the support set's statistics
    """

    def __init__(self, scale: bool = True, epsilon: float = 1e-3, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if epsilon <= 0:
            raise ValueError(f"`epsilon` must be positive. Received: epsilon={epsilon}")
        self.scale = scale
        self.epsilon = epsilon

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (input_shape[-1],)
        own = {"shape": shape, "autocast": False}  # statistics of half precision would be those of other images
        self.gamma = self.add_weight(initializer="ones", name="gamma", **own) if self.scale else None
        self.beta = self.add_weight(initializer="zeros", name="beta", **own)
        self.mean = self.add_weight(initializer="zeros", trainable=False, name="mean", **own)
        self.variance = self.add_weight(initializer="ones", trainable=False, name="variance", **own)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = ops.cast(x, self.variable_dtype)
        if _stored.get():
            mean, variance = ops.convert_to_tensor(self.mean), ops.convert_to_tensor(self.variance)
        else:
            axes = tuple(range(len(x.shape) - 1))
            mean = ops.mean(x, axes)
            variance = ops.mean(ops.square(x - mean), axes)
            self.mean.assign(mean)
            self.variance.assign(variance)
        factor = ops.rsqrt(variance + self.epsilon)
        if self.scale:
            factor = factor * self.gamma
        return ops.cast(x * factor + (self.beta - mean * factor), self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "scale": self.scale, "epsilon": self.epsilon}
