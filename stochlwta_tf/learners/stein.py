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
    difference = particles[:, None] - particles[None]  # w_j − w_m at [j, m]
    squares = tf.reduce_sum(tf.square(difference), -1)
    h = bandwidth(squares)
    kernel = tf.exp(-squares / h)
    repulsion = -2 / h * tf.reduce_sum(kernel[:, :, None] * difference, 0)
    return (tf.matmul(kernel, gradients, transpose_a=True) + repulsion) / count


def bandwidth(squares):
    """h, from the squared distances of the particles, `[M, M]`."""
    count = squares.shape[0]
    pairs = np.flatnonzero(np.triu(np.ones([count, count]), 1))
    # By top_k, which tf.vectorized_map knows: down to the middle, of which there are two where the number of pairs is even.
    largest = tf.math.top_k(tf.gather(tf.reshape(tf.stop_gradient(squares), [-1]), pairs), len(pairs) // 2 + 1).values
    median = tf.reduce_mean(tf.sqrt(largest[-1 if len(pairs) % 2 else -2 :]))
    return tf.maximum(tf.square(median) / math.log(count), _SMALLEST_BANDWIDTH)
