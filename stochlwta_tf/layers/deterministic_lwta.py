"""Deterministic local winner-takes-all."""

from typing import Any

import keras
import tensorflow as tf

from stochlwta_tf.layers.blocks import check_competitors, check_divides, merge_blocks, one_winner, split_blocks


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class DeterministicLWTA(keras.layers.Layer):
    """In each block of J neighbouring units (or channels) the largest passes, the others are set to 0.

    Srivastava et al., *Compete to Compute* (NeurIPS 2013); the ablation of the paper's table 2:

        y_j = h_j if j = argmax h, else 0

    Args:
        competitors: Integer J of at least 2, units in a block; must divide the last axis of the input.

    Input shape:
        `[..., units]`.

    Output shape:
        The input's.

    Raises:
        ValueError: If `competitors` is below 2 or does not divide the units.

    Example:

    >>> DeterministicLWTA(2)(np.array([[3.0, 1.0, -2.0, -1.0]]))  # [[3, 0, 0, -1]]
    """

    def __init__(self, competitors: int = 2, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        check_competitors(competitors)
        self.competitors = competitors

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        check_divides(self.competitors, input_shape[-1])

    def call(self, x: tf.Tensor) -> tf.Tensor:
        h = split_blocks(x, self.competitors)
        return merge_blocks(h * one_winner(h))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        return {**super().get_config(), "competitors": self.competitors}
