"""Data augmentation: random changes of training images that preserve their class."""

import tensorflow as tf


def augmented(noise: tf.Tensor, images: tf.Tensor, flip: bool, shift: int) -> tf.Tensor:
    """Mirrors each image left to right with probability one half and shifts it, independently for each image.

    Args:
        noise: Uniform noise in (0, 1), `[images, 3]`.
        images: `[images, height, width, channels]`.
        flip: Whether to mirror.
        shift: Largest shift up, down, left and right, in pixels, uniform over whole numbers; edge pixels are repeated.

    Returns:
        Images of the same shape and type.

    Example:

    >>> augmented(noise, images, flip=True, shift=4)
    """
    height, width = images.shape[1:3]
    down, right = (tf.cast(noise[:, i, None] * (2 * shift + 1), tf.int32) - shift for i in range(2))
    rows = tf.clip_by_value(tf.range(height) - down, 0, height - 1)
    columns = tf.clip_by_value(tf.range(width) - right, 0, width - 1)
    if flip:
        columns = tf.where(noise[:, 2, None] < 0.5, width - 1 - columns, columns)
    return tf.gather(tf.gather(images, rows, batch_dims=1), columns, axis=2, batch_dims=1)
