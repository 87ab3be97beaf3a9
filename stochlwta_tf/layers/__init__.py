"""Keras layers with Gaussian weights and with competing units."""

from stochlwta_tf.layers.batch_normalization import BatchNormalization, stored_statistics
from stochlwta_tf.layers.deterministic_lwta import DeterministicLWTA
from stochlwta_tf.layers.gaussian_conv2d import GaussianConv2D
from stochlwta_tf.layers.gaussian_dense import GaussianDense
from stochlwta_tf.layers.input_scale import InputScale
from stochlwta_tf.layers.max_pooling import MaxPooling2x2
from stochlwta_tf.layers.observation_noise import ObservationNoise, with_observation_noise
from stochlwta_tf.layers.stochastic_lwta import StochasticLWTA

__all__ = [
    "BatchNormalization",
    "DeterministicLWTA",
    "GaussianConv2D",
    "GaussianDense",
    "InputScale",
    "MaxPooling2x2",
    "ObservationNoise",
    "StochasticLWTA",
    "stored_statistics",
    "with_observation_noise",
]
