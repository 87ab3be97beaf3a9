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
    """Softmax along the last axis, competitor by competitor: over so few, TensorFlow's own is slower on a CPU."""
    competitors = ops.unstack(values, axis=-1)
    largest = ops.stop_gradient(functools.reduce(ops.maximum, competitors))
    exponentials = [ops.exp(v - largest) for v in competitors]
    total = functools.reduce(ops.add, exponentials)
    return ops.stack([e / total for e in exponentials], axis=-1)
