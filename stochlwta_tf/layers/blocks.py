"""Blocks of competing units: how the last axis of a tensor is cut into R blocks of J neighbours."""

import functools
from typing import Any

import tensorflow as tf
from keras import ops


def check_competitors(competitors: int) -> None:
    """Raises ValueError unless `competitors` (J) is an integer of at least 2."""
    if not isinstance(competitors, int) or competitors < 2:
        raise ValueError(f"`competitors` must be an integer of at least 2. Received: competitors={competitors!r}")


def check_divides(competitors: int, units: int | None) -> None:
    """Raises ValueError unless J divides the number of units."""
    if units is not None and units % competitors:
        raise ValueError(f"`competitors` must divide the number of units. Received: competitors={competitors}, units={units}")


def split_blocks(x: tf.Tensor, competitors: int) -> tf.Tensor:
    """`[..., R J]` → `[..., R, J]`."""
    return ops.reshape(x, (*_shape(x)[:-1], x.shape[-1] // competitors, competitors))


def merge_blocks(x: tf.Tensor) -> tf.Tensor:
    """`[..., R, J]` → `[..., R J]`."""
    return ops.reshape(x, (*_shape(x)[:-2], x.shape[-2] * x.shape[-1]))


def _shape(x: tf.Tensor) -> list[Any]:
    """Sizes of the axes; a scalar tensor where a size is known only at run time."""
    dynamic = ops.shape(x)
    return [dynamic[axis] if size is None else size for axis, size in enumerate(x.shape)]


def one_winner(values: tf.Tensor) -> tf.Tensor:
    """One-hot along the last axis, at the largest value (the first of equals)."""
    # Not `ops.argmax`, whose bit tricks tf.vectorized_map does not know.
    return tf.one_hot(tf.argmax(values, axis=-1), values.shape[-1], dtype=values.dtype)


def softmax(values: tf.Tensor) -> tf.Tensor:
    """Softmax along the last axis: over so few competitors, TensorFlow's own is slower on a CPU."""
    if pairs_in_a_map(values):
        return ops.sigmoid(values - _rivals(values))
    competitors = ops.unstack(values, axis=-1)
    largest = ops.stop_gradient(functools.reduce(ops.maximum, competitors))
    exponentials = [ops.exp(v - largest) for v in competitors]
    total = functools.reduce(ops.add, exponentials)
    return ops.stack([e / total for e in exponentials], axis=-1)


def log_softmax(values: tf.Tensor) -> tf.Tensor:
    """Logarithm of the softmax along the last axis."""
    if pairs_in_a_map(values):
        return ops.log_sigmoid(values - _rivals(values))
    return ops.log_softmax(values)


def pairs_in_a_map(values: tf.Tensor) -> bool:
    """Whether these are blocks of two channels; between dense layers, which XLA compiles, it would compute the noise twice."""
    return len(values.shape) > 3 and values.shape[-1] == 2


def _rivals(values: tf.Tensor) -> tf.Tensor:
    """`[..., 2]`, the two of each block exchanged: on a CPU far quicker than taking them apart, and as a matrix quicker than as it is."""
    return ops.reshape(ops.flip(ops.reshape(values, (-1, 2)), axis=1), _shape(values))
