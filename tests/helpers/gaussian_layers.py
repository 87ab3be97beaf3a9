"""Layers with a Gaussian posterior whose standard deviations matter, and their inputs."""

import numpy as np
import pytest

from stochlwta_tf.layers import GaussianConv2D, GaussianDense

LAYERS = [
    (lambda **options: GaussianDense(4, **options), (2, 3)),
    (lambda **options: GaussianConv2D(4, (3, 2), strides=2, padding="same", **options), (2, 5, 6, 3)),
]
each_layer = pytest.mark.parametrize(("make", "shape"), LAYERS, ids=["dense", "conv"])


def inputs(shape, dtype="float32"):
    return np.random.default_rng(0).normal(size=shape).astype(dtype)


def spread(layer, shape, mean=0.3):
    """Builds a layer, and gives it a posterior with standard deviations that matter."""
    layer.build((None, *shape[1:]))
    values = np.random.default_rng(1)
    layer.mean.assign(values.normal(0, mean, layer.mean.shape))
    layer.rho.assign(values.normal(-1, 0.5, layer.rho.shape))
    return layer


def std(layer):
    return np.log1p(np.exp(layer.rho.numpy().astype("float64")))
