"""The competition of two channels at each position of a feature map, as one XLA program forwards and one backwards."""

import functools
from collections.abc import Callable

import tensorflow as tf

from stochlwta_tf.layers.blocks import pairs_in_a_map

_LEAST = 2**16  # elements; operations on fewer take no longer than the start of a program


def is_large_map_of_pairs(h: tf.Tensor) -> bool:
    """Whether `h` is, in a graph, the blocks `[..., R, 2]` of a feature map that is large, and of one size, so that it compiles once."""
    return not tf.executing_eagerly() and pairs_in_a_map(h) and h.shape.is_fully_defined() and h.shape.num_elements() >= _LEAST


def compete(logits: tf.Tensor, noise: tf.Tensor, h: tf.Tensor, temperature: float) -> tf.Tensor:
    """xi · h with  xi = softmax((logits + noise) / temperature),  or with the winner's one-hot where the temperature is 0.

    Operation by operation, each of a dozen would read and write the whole map, which takes as long as the convolution before it.

    Args:
        logits, noise, h: `[..., 2]`, of one type and known shape.
        temperature: Of the relaxation.

    Returns:
        A tensor of the shape of `h`.
    """
    return _at(temperature)(logits, noise, h)


@functools.cache
def _at(temperature: float) -> Callable:
    program = functools.partial(tf.function, jit_compile=True, autograph=False)

    @program
    def forwards(logits: tf.Tensor, noise: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The outputs, and xi of the first of each block."""
        p0, p1 = _apart(logits + noise)
        xi = tf.sigmoid((p0 - p1) / temperature) if temperature else tf.cast(p0 >= p1, h.dtype)
        h0, h1 = _apart(h)
        return _together(xi * h0, (1 - xi) * h1, h), xi

    @program
    def backwards(xi: tf.Tensor, h: tf.Tensor, of_y: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The gradients of the logits and of h."""
        h0, h1 = _apart(h)
        of_y0, of_y1 = _apart(of_y)
        of_difference = (of_y0 * h0 - of_y1 * h1) * xi * (1 - xi) / temperature if temperature else tf.zeros_like(xi)
        return _together(of_difference, -of_difference, h), _together(xi * of_y0, (1 - xi) * of_y1, h)

    @tf.custom_gradient
    def competition(logits: tf.Tensor, noise: tf.Tensor, h: tf.Tensor) -> tuple[tf.Tensor, Callable]:
        y, xi = forwards(logits, noise, h)

        def gradients(of_y: tf.Tensor) -> tuple[tf.Tensor | None, ...]:
            of_logits, of_h = backwards(xi, h, of_y)
            return of_logits, None, of_h

        return y, gradients

    return competition


def _apart(blocks: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    pairs = tf.reshape(blocks, (-1, 2))  # as a matrix XLA takes them apart quicker
    return pairs[:, 0], pairs[:, 1]


def _together(first: tf.Tensor, second: tf.Tensor, like: tf.Tensor) -> tf.Tensor:
    return tf.reshape(tf.stack([first, second], axis=1), like.shape)
