"""Stochastic local winner-takes-all: the activation of the paper."""

import math
from typing import Any

import keras
import tensorflow as tf
import tensorflow_probability as tfp
from keras import ops

from stochlwta_tf import random
from stochlwta_tf.layers.blocks import check_competitors, check_divides, log_softmax, merge_blocks, one_winner, softmax, split_blocks
from stochlwta_tf.layers.pair_competition import compete, is_large_map_of_pairs

tfd = tfp.distributions

# Perturbed values divided by it stay finite in float32 up to 1e28.
_LEAST_TEMPERATURE = 1e-10


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class StochasticLWTA(keras.layers.Layer):
    """Blocks of J linear units compete for their block's output; the winner is sampled.

    Eq. 3, 4, 7 and 8 of Kalais & Chatzis (ICML 2022).  For a block with values h (J neighbouring units or channels; in a feature map
    the competition is at each position):

        q(xi) = Categorical(softmax(h)),    y = xi · h

    In training xi is the Gumbel-softmax relaxation  softmax((log q + g) / temperature),  g standard Gumbel noise, and `kl_weight`
    KL[q(xi) || Categorical(1/J)], summed over blocks, positions and examples, is added to the layer's losses.  In prediction xi is a
    hard one-hot winner, or, with `test_temperature` above 0, the relaxation at that temperature.

    Args:
        competitors: Integer J of at least 2, units in a block; must divide the last axis of the input.
        temperature: Number of at least 1e-10, of the relaxation in training.
        test_temperature: The same, of the relaxation in prediction; or 0, which samples hard winners.
        probability_floor: Added to every winner's probability, which are then renormalised (the published code: 1e-4).
        kl_weight: Factor of the KL term, λ; 0 disables it.
        kl_estimator: `"closed_form"`, or `"sample"`: xi · (log q + log J) at the relaxed sample.
        seed: Integer seed of the layer's noise when it is called on its own; a learner sets the noise key itself.

    Input shape:
        `[..., units]`.

    Output shape:
        The input's.

    Raises:
        ValueError: If `competitors` is below 2 or does not divide the units, or another argument is invalid.

    Example:

    >>> layer = StochasticLWTA(competitors=2, seed=0)
    >>> layer(np.ones((1, 4), "float32"))  # in each block of two, one unit passes
    """

    #: Whether two predictions differ.
    samples_in_prediction = True

    def __init__(
        self,
        competitors: int = 2,
        temperature: float = 0.67,
        test_temperature: float = 0.0,
        probability_floor: float = 0.0,
        kl_weight: float = 1.0,
        kl_estimator: str = "closed_form",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        check_competitors(competitors)
        if temperature < _LEAST_TEMPERATURE:
            raise ValueError(f"`temperature` must be at least {_LEAST_TEMPERATURE:g}. Received: temperature={temperature}")
        if 0 < test_temperature < _LEAST_TEMPERATURE:
            raise ValueError(
                f"`test_temperature` must be 0, for hard winners, or at least {_LEAST_TEMPERATURE:g}. "
                f"Received: test_temperature={test_temperature}"
            )
        if kl_estimator not in ("closed_form", "sample"):
            raise ValueError(f"`kl_estimator` must be 'closed_form' or 'sample'. Received: kl_estimator={kl_estimator!r}")
        for argument, value in (("test_temperature", test_temperature), ("probability_floor", probability_floor), ("kl_weight", kl_weight)):
            if value < 0:
                raise ValueError(f"`{argument}` must not be negative. Received: {argument}={value}")
        self.competitors = competitors
        self.temperature = temperature
        self.test_temperature = test_temperature
        self.probability_floor = probability_floor
        self.kl_weight = kl_weight
        self.kl_estimator = kl_estimator
        self.seed = seed
        self.noise = keras.random.SeedGenerator(seed)

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        check_divides(self.competitors, input_shape[-1])

    def posterior(self, h: tf.Tensor) -> tfp.distributions.Distribution:
        """q(xi), the winner of each block of `h [..., units]`, as a `tfd.Categorical` of batch shape `[..., blocks]`."""
        return tfd.Categorical(logits=self._logits(split_blocks(h, self.competitors)))

    def _logits(self, h: tf.Tensor) -> tf.Tensor:
        if not self.probability_floor:
            return h
        q = softmax(h) + self.probability_floor
        return ops.log(q / (1.0 + self.competitors * self.probability_floor))

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        h = split_blocks(x, self.competitors)
        logits = self._logits(ops.cast(h, self.variable_dtype))  # the competition is in full precision
        shape = [tf.shape(h)[axis] if size is None else size for axis, size in enumerate(h.shape)]
        noise = ops.cast(random.gumbel(self.noise.next(), shape), logits.dtype)
        temperature = self.temperature if training else self.test_temperature
        xi = None
        # softmax(h) and log q differ by a constant in each block, which neither a softmax nor the winner sees.
        if is_large_map_of_pairs(h) and h.dtype == logits.dtype and self.kl_estimator != "sample":
            y = compete(logits, noise, h, temperature)
        else:
            perturbed = logits + noise
            xi = softmax(perturbed / temperature) if temperature else one_winner(perturbed)
            y = ops.cast(xi, h.dtype) * h
        if training and self.kl_weight:
            self.add_loss(self.kl_weight * self._kl(logits, xi))
        return merge_blocks(y)

    def _kl(self, logits: tf.Tensor, xi: tf.Tensor | None) -> tf.Tensor:
        weights = xi if self.kl_estimator == "sample" else softmax(logits)
        return ops.sum(weights * (log_softmax(logits) + math.log(self.competitors)))

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        return input_shape

    def get_config(self) -> dict[str, Any]:
        config = {
            "competitors": self.competitors,
            "temperature": self.temperature,
            "test_temperature": self.test_temperature,
            "probability_floor": self.probability_floor,
            "kl_weight": self.kl_weight,
            "kl_estimator": self.kl_estimator,
            "seed": self.seed,
        }
        return {**super().get_config(), **config}
