"""Networks that compute in half precision: which dtype policies a learner takes, and gradients that do not underflow on the way."""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

# The least number of float16 is 6e-8: smaller gradients of activations are 0. Times this they are not, and those of a likelihood, which
# are of the order of 1, stay far below the largest, 65,504. bfloat16 has the exponents of float32, and needs none.
_FLOAT16_FACTOR = 128.0


def check_precision(network: keras.Model) -> None:
    """Raises a ValueError unless all of a network's weights are float32, or all are float64, and its gradients can be trusted.

    TensorFlow's gradient of a strided convolution on inputs of one pixel cannot be, in bfloat16: on a CPU, oneDNN leaves the part of the
    kernel that only padding meets as it finds it in memory.
    """
    kinds = sorted({v.dtype for v in network.trainable_variables})
    if kinds not in (["float32"], ["float64"]):
        raise ValueError(
            "The network's weights must all be float32 or all float64, since inner steps are lost to rounding in half precision; "
            f"of dtype policies float32, float64, mixed_float16 and mixed_bfloat16 are possible. Received: {', '.join(kinds)}"
        )
    for layer in network._flatten_layers():
        if layer.compute_dtype == "bfloat16" and max(np.ravel(getattr(layer, "strides", 1))) > 1 and _of_one_pixel(layer):
            raise ValueError(
                "TensorFlow's gradient of a convolution with strides on inputs of one pixel is wrong in bfloat16; larger images, fewer "
                f"such layers or mixed_float16 avoid it. Received: layer={layer.name}, dtype policy {layer.dtype_policy.name}"
            )


def _of_one_pixel(layer: keras.Layer) -> bool:
    try:
        shape = layer.input.shape
    except AttributeError:  # in a network that is not a graph of layers
        return False
    return all(size == 1 for size in shape[1:-1])


def gradient_factor(network: keras.Model) -> float | None:
    """The factor by which a loss is multiplied before its gradient, and the gradient divided after; None where nothing is float16."""
    return _FLOAT16_FACTOR if any(layer.compute_dtype == "float16" for layer in network._flatten_layers()) else None


def gradient(tape: tf.GradientTape, loss: tf.Tensor, sources: Any, factor: float | None = None) -> Any:
    """The gradient of a loss with respect to tensors, on whose way back are the gradients of `factor` times the loss.

    It is zero where there is none, and dense where a layer looks up rows of a table.
    """
    seed = None if factor is None else tf.fill(tf.shape(loss), tf.cast(factor, loss.dtype))
    found = tape.gradient(loss, sources, output_gradients=seed, unconnected_gradients="zero")
    found = tf.nest.map_structure(tf.convert_to_tensor, found)
    return found if factor is None else tf.nest.map_structure(lambda g: g / factor, found)
