"""Batch normalisation that can be differentiated twice and that keeps no moving averages."""

import contextlib
import contextvars
from collections.abc import Iterator
from typing import Any

import keras
import tensorflow as tf
from keras import ops

_stored = contextvars.ContextVar("stored_statistics", default=False)
_separate = contextvars.ContextVar("separate_operations", default=False)


@contextlib.contextmanager
def stored_statistics() -> Iterator[None]:
    """Within this context `BatchNormalization` normalises by the statistics of the last batch that it saw outside."""
    token = _stored.set(True)
    try:
        yield
    finally:
        _stored.reset(token)


@contextlib.contextmanager
def separate_operations() -> Iterator[None]:
    """Within this context `BatchNormalization` is one operation for each of the formula's: slower, and what ABML and PLATIPUS need.

    oneDNN merges the gradients of a convolution's bias and kernel.  After TensorFlow's fused operation that gives their meta-gradients a
    graph with a cycle, where they go through two or more gradient steps.
    """
    token = _separate.set(True)
    try:
        yield
    finally:
        _separate.reset(token)


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


@tf.custom_gradient
def _with_gradients(x: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> Any:
    """The moments of `x`, known already, with the gradients that TensorFlow's fused operation does not give them."""

    def gradients(of_mean: tf.Tensor, of_variance: tf.Tensor) -> tuple[tf.Tensor, ...]:
        n = tf.cast(tf.reduce_prod(tf.shape(x)[:-1]), x.dtype)
        of_x = (of_mean + 2 * (x - tf.reduce_mean(x, (0, 1, 2))) * of_variance) / n  # not x - mean, of which x is a constant
        return of_x, tf.zeros_like(mean), tf.zeros_like(variance)

    return (mean, variance), gradients


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class BatchNormalization(keras.layers.Layer):
    """y = gamma (x − mean) / sqrt(variance + epsilon) + beta, over all axes but the last.

    Ioffe & Szegedy (2015), for few-shot learning:

    - Its second derivatives are those of the formula.  `keras.layers.BatchNormalization` stops the gradient of the mean, which keeps first
      derivatives correct but makes second ones, and with them MAML's meta-gradient, wrong by tens of per cent.
    - The statistics are always those of one batch: of the batch at hand (which are kept) or, within `stored_statistics()`, those kept
      last.  A learner thus normalises queries by their own statistics (transductive) or the support set's.  The `training` argument, which
      elsewhere decides temperatures and KL terms, has no effect here.

    Args:
        scale: Whether to multiply by a trainable gamma.
        epsilon: Positive number added to the variance.
        gamma_initializer: Initial gamma.

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

    def __init__(self, scale: bool = True, epsilon: float = 1e-3, gamma_initializer: Any = "ones", **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if epsilon <= 0:
            raise ValueError(f"`epsilon` must be positive. Received: epsilon={epsilon}")
        self.scale = scale
        self.epsilon = epsilon
        self.gamma_initializer = keras.initializers.get(gamma_initializer)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        shape = (input_shape[-1],)
        own = {"shape": shape, "autocast": False}  # statistics of half precision would be those of other images
        self.gamma = self.add_weight(initializer=self.gamma_initializer, name="gamma", **own) if self.scale else None
        self.beta = self.add_weight(initializer="zeros", name="beta", **own)
        self.mean = self.add_weight(initializer="zeros", trainable=False, name="mean", **own)
        self.variance = self.add_weight(initializer="ones", trainable=False, name="variance", **own)

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = ops.cast(x, self.variable_dtype)
        if _stored.get():
            y = self._normalized(x, ops.convert_to_tensor(self.mean), ops.convert_to_tensor(self.variance))
            return ops.cast(y, self.compute_dtype)
        if len(x.shape) == 4 and x.dtype == tf.float32 and not _separate.get():
            y, mean, variance = self._fused(x)
        else:
            axes = tuple(range(len(x.shape) - 1))
            mean = ops.mean(x, axes)
            variance = ops.mean(ops.square(x - mean), axes)
            y = self._normalized(x, mean, variance)
        self.mean.assign(mean)
        self.variance.assign(variance)
        return ops.cast(y, self.compute_dtype)

    def _normalized(self, x: tf.Tensor, mean: tf.Tensor, variance: tf.Tensor) -> tf.Tensor:
        factor = ops.rsqrt(variance + self.epsilon)
        if self.scale:
            factor = factor * self.gamma
        return x * factor + (self.beta - mean * factor)

    def _fused(self, x: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """Output, mean and variance of images, from one operation; one for each of the formula's takes three times as long."""
        beta = ops.convert_to_tensor(self.beta)
        gamma = ops.convert_to_tensor(self.gamma) if self.scale else tf.ones_like(beta)
        of = tf.raw_ops.FusedBatchNormV3(x=x, scale=gamma, offset=beta, mean=[], variance=[], epsilon=self.epsilon, is_training=True)
        n = tf.cast(tf.reduce_prod(tf.shape(x)[:-1]), x.dtype)
        variance = of.batch_variance * tf.maximum(n - 1, 1) / n  # its own is the unbiased estimate
        return of.y, *_with_gradients(x, of.batch_mean, variance)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        gamma = keras.initializers.serialize(self.gamma_initializer)
        return {**super().get_config(), "scale": self.scale, "epsilon": self.epsilon, "gamma_initializer": gamma}
