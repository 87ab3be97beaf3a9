"""Stein variational gradient descent."""

import math

import numpy as np
import tensorflow as tf

# Particles that coincide have no distance: the kernel's bandwidth would be 0, and its exponent 0 / 0.
_SMALLEST_BANDWIDTH = 1e-10


def stein_direction(particles, gradients):
    """phi: the direction in which the particles, moved together, approach p fastest.

    Liu & Wang, *Stein Variational Gradient Descent* (NeurIPS 2016), with h = med² / log M, med the median distance of two particles:

        phi(w_m) = (1/M) sum_j [ k(w_j, w_m) ∇ log p(w_j) + ∇_{w_j} k(w_j, w_m) ],    k(w, w') = exp(−||w − w'||² / h)

    A single particle follows the gradient. h is treated as a constant in gradients of phi.

    Args:
        particles: `[M, coordinates]`.
        gradients: ∇ log p at each, `[M, coordinates]`.

    Returns:
        phi, `[M, coordinates]`.

    Example:

    >>> particles += 0.1 * stein_direction(particles, -particles)  # towards N(0, I)
    """
    count = particles.shape[0]
    if count == 1:
        return gradients
    # In products of matrices: the differences of all pairs would be M times as much memory, many times over in a meta-gradient. The
    # distances of centred particles lose less to rounding.
    centred, identity = particles - tf.reduce_mean(particles, 0), tf.eye(count, dtype=particles.dtype)
    gram = tf.matmul(centred, centred, transpose_b=True)
    norms = tf.reduce_sum(gram * identity, -1)
    squares = tf.maximum(norms[:, None] + norms[None] - 2 * gram, 0)
    h = bandwidth(squares)
    kernel = tf.exp(-squares / h)
    # sum_j k(w_j, w_m) (w_j − w_m)
    apart = tf.matmul(kernel - identity * tf.reduce_sum(kernel, 0), centred, transpose_a=True)
    return (tf.matmul(kernel, gradients, transpose_a=True) - 2 / h * apart) / count


def bandwidth(squares):
    """h, from the squared distances of the particles, `[M, M]`."""
    count = squares.shape[0]
    pairs = np.flatnonzero(np.triu(np.ones([count, count]), 1))
    # By top_k, which tf.vectorized_map knows: down to the middle, of which there are two where the number of pairs is even.
    largest = tf.math.top_k(tf.gather(tf.reshape(tf.stop_gradient(squares), [-1]), pairs), len(pairs) // 2 + 1).values
    median = tf.reduce_mean(tf.sqrt(largest[-1 if len(pairs) % 2 else -2 :]))
    return tf.maximum(tf.square(median) / math.log(count), _SMALLEST_BANDWIDTH)
