"""A learned observation noise, output together with a regression network's means."""

import math
from typing import Any

import keras
import tensorflow as tf
from keras import ops

from stochlwta_tf.layers.gaussian_layer import AtLeast
from stochlwta_tf.layers.model_shapes import shapes_of


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class ObservationNoise(keras.layers.Layer):
    """Appends a trainable standard deviation to the mean of each target, [f] → [f, sigma_y], the same for every example.

    The variable is log sigma_y, so that a step of any size keeps sigma_y positive.  It is a weight of the network like any other: a
    learner meta-learns, adapts or samples it without special treatment, and `objectives.LearnedGaussian` reads it off the outputs.

    Args:
        noise_std: Positive number, the initial sigma_y.
        min_std: Positive number, the smallest: on targets without noise the likelihood has no maximum.

    Input shape:
        `[batch, targets]`.

    Output shape:
        `[batch, 2 targets]`: each mean, followed by its standard deviation.

    Raises:
        ValueError: If a standard deviation is not positive, or the initial one below the smallest.

    Example:

    >>> ObservationNoise(0.5)(np.zeros((3, 1), "float32"))  # three rows [0, 0.5]
    """

    def __init__(self, noise_std: float = 1.0, min_std: float = 0.01, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not 0 < min_std <= noise_std:
            raise ValueError(
                f"`min_std` must be positive and at most `noise_std` where the noise is learned. "
                f"Received: noise_std={noise_std}, min_std={min_std}"
            )
        self.noise_std = noise_std
        self.min_std = min_std
        self.input_spec = keras.layers.InputSpec(ndim=2)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        self.log_std = self.add_weight(
            shape=(input_shape[-1],),
            initializer=keras.initializers.Constant(math.log(self.noise_std)),
            constraint=AtLeast(math.log(self.min_std)),
            autocast=False,
            name="log_noise_std",
        )

    def call(self, x: tf.Tensor) -> tf.Tensor:
        x = ops.cast(x, self.variable_dtype)
        stds = ops.exp(ops.convert_to_tensor(self.log_std)) + ops.zeros_like(x)
        # Stacked, not concatenated: the second derivative of a concatenation is one that XLA and tf.vectorized_map have no rule for.
        return ops.reshape(ops.stack([x, stds], -1), (-1, 2 * x.shape[-1]))

    def compute_output_shape(self, input_shape: tuple[Any, ...]) -> tuple[int | None, ...]:
        return (*input_shape[:-1], 2 * input_shape[-1])

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "noise_std": self.noise_std, "min_std": self.min_std}


def with_observation_noise(network: keras.Model, noise_std: float) -> keras.Model:
    """The network with an `ObservationNoise` after its outputs; the network itself if it already has one.

    Args:
        network: A built `keras.Model` whose outputs are regression means.
        noise_std: The initial standard deviation.

    Returns:
        A `keras.Model` that shares the network's layers.
    """
    if any(isinstance(layer, ObservationNoise) for layer in network.layers):
        return network
    noise = ObservationNoise(noise_std, name="observation_noise")
    if hasattr(network, "outputs"):
        return keras.Model(network.input, noise(network.output), name=network.name)
    x = keras.Input(shapes_of(network)[0])  # a subclassed network has no symbolic outputs
    return keras.Model(x, noise(network(x)), name=network.name)
