"""Likelihoods: how a network's outputs are compared with targets, and how sampled outputs are averaged.

With y the targets and f the outputs, the negative log-likelihood of a set of examples is the first term of the negative ELBO (eq. 6, 10)

    −ELBO = sum_n −log p(y_n | f_n) + λ_ξ KL[q(xi) || p(xi)] + λ_w KL[q(w) || p(w)]

whose KL terms the stochastic layers add themselves.
"""

from typing import Any, Literal

import keras
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp

tfd = tfp.distributions


class Likelihood:
    """Interface: `nll`, `predictive` and `split`, and the `score` shown in training.

    Attributes:
        kind: Its name among the options of a learner.
        score_name: Name of the score.
        higher_is_better: Whether a larger score is better.
        uncertainty: What an active learner goes by: `"entropy"` of the mean probabilities, or `"variance"` of the draws.
    """

    kind: str
    score_name: str
    higher_is_better: bool
    uncertainty: str

    def nll(self, y: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        """−log p(y | outputs) of each example, `[examples]`."""
        raise NotImplementedError(f"{type(self).__name__} must implement nll(y, outputs).")

    def predictive(self, draws: tf.Tensor) -> tf.Tensor:
        """The predictive mean of `draws [B, examples, outputs]`: class probabilities, or regression means, `[examples, outputs]`."""
        raise NotImplementedError(f"{type(self).__name__} must implement predictive(draws).")

    def score(self, y: tf.Tensor, predictive: tf.Tensor) -> tf.Tensor:
        """Accuracy or mean squared error of a predictive mean, a scalar."""
        raise NotImplementedError(f"{type(self).__name__} must implement score(y, predictive).")

    def split(self, outputs: Any) -> tuple[Any, Any]:
        """The predictions in a network's outputs, and their observation std: None for classes."""
        return outputs, None

    def check_targets(self, y: np.ndarray, examples: int, outputs: int) -> None:
        """Raises a ValueError unless an array is targets of some examples of a network with that many outputs (classes, or targets)."""
        raise NotImplementedError(f"{type(self).__name__} must implement check_targets(y, examples, outputs).")

    def get_config(self) -> dict[str, Any]:
        return {}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "Likelihood":
        return cls(**config)


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class Categorical(Likelihood):
    """Class labels given logits.

    Args:
        average: What prediction averages over draws: `"logits"`, as eq. 11, or `"probabilities"`.
        probability_clip: `None`, or the bound c of the published code's cross-entropy: probabilities are clipped to [c, 1 − c] before the
            logarithm and renormalised; a clipped entry passes no gradient.

    Example:

    >>> Categorical().nll(tf.constant([1]), tf.constant([[0.0, 0.0]]))  # [log 2]
    """

    kind, score_name, higher_is_better, uncertainty = "categorical", "accuracy", True, "entropy"

    def __init__(self, average: Literal["logits", "probabilities"] = "logits", probability_clip: float | None = None) -> None:
        if average not in ("logits", "probabilities"):
            raise ValueError(f"`average` must be 'logits' or 'probabilities'. Received: average={average!r}")
        self.average = average
        self.probability_clip = probability_clip

    def nll(self, y: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        if self.probability_clip is not None:
            outputs = tf.math.log(tf.clip_by_value(tf.nn.softmax(outputs), self.probability_clip, 1 - self.probability_clip))
        return tf.nn.sparse_softmax_cross_entropy_with_logits(y, outputs)

    def predictive(self, draws: tf.Tensor) -> tf.Tensor:
        if self.average == "logits":
            return tf.nn.softmax(tf.reduce_mean(draws, 0))
        return tf.reduce_mean(tf.nn.softmax(draws), 0)

    def score(self, y: tf.Tensor, predictive: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(tf.cast(tf.equal(tf.argmax(predictive, -1, output_type=y.dtype), y), predictive.dtype))

    def get_config(self) -> dict[str, Any]:
        return {"average": self.average, "probability_clip": self.probability_clip}

    def check_targets(self, y: np.ndarray, examples: int, outputs: int) -> None:
        if y.ndim == 1 and len(y) != examples:
            raise ValueError(f"`support_y` must have a label for each of the {examples} support inputs. Received: {len(y)} labels")
        if y.ndim != 1 or y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= outputs:
            values = f", values from {y.min()} to {y.max()}" if y.size and y.dtype.kind in "iuf" else ""
            raise ValueError(
                f"`support_y` must hold {examples} labels, one for each support input: names, or integers from 0 to {outputs - 1}. "
                f"Received: shape={y.shape}, dtype={y.dtype}{values}"
            )


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class Gaussian(Likelihood):
    """Real targets with independent Gaussian noise around the outputs.

    Args:
        noise_std: Positive number, the standard deviation of an observation, sigma_y.

    Example:

    >>> Gaussian(noise_std=1.0).nll(tf.zeros([1, 1]), tf.zeros([1, 1]))  # [0.5 log(2 pi)]
    """

    kind, score_name, higher_is_better, uncertainty = "gaussian", "mse", False, "variance"

    def __init__(self, noise_std: float = 1.0) -> None:
        if noise_std <= 0:
            raise ValueError(f"`noise_std` must be positive. Received: noise_std={noise_std}")
        self.noise_std = noise_std

    def nll(self, y: tf.Tensor, outputs: tf.Tensor) -> tf.Tensor:
        means, stds = self.split(outputs)
        _check_like(y, means)
        return -tf.reduce_sum(tfd.Normal(means, tf.cast(stds, means.dtype)).log_prob(tf.cast(y, means.dtype)), -1)

    def predictive(self, draws: tf.Tensor) -> tf.Tensor:
        return tf.reduce_mean(draws, 0)

    def score(self, y: tf.Tensor, predictive: tf.Tensor) -> tf.Tensor:
        _check_like(y, predictive)
        return tf.reduce_mean(tf.math.squared_difference(tf.cast(y, predictive.dtype), predictive))

    def split(self, outputs: Any) -> tuple[Any, Any]:
        return outputs, self.noise_std

    def check_targets(self, y: np.ndarray, examples: int, outputs: int) -> None:
        if y.shape != (examples, outputs):
            raise ValueError(f"`support_y` must have the shape [{examples}, {outputs}]. Received: shape={y.shape}")

    def get_config(self) -> dict[str, Any]:
        return {"noise_std": self.noise_std}


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class LearnedGaussian(Gaussian):
    """As `Gaussian`, with a learned standard deviation that the network outputs with its means: outputs [f, sigma_y].

    See `layers.ObservationNoise`.

    Args:
        targets: Number of targets, half the network's outputs.

    Example:

    >>> LearnedGaussian(targets=1).nll(tf.zeros([1, 1]), tf.constant([[0.0, 1.0]]))  # [0.5 log(2 pi)]
    """

    def __init__(self, targets: int) -> None:
        super().__init__()
        self.targets = targets

    def predictive(self, draws: tf.Tensor) -> tf.Tensor:
        return super().predictive(self.split(draws)[0])

    def split(self, outputs: Any) -> tuple[Any, Any]:
        sizes = [-1 if size is None else size for size in outputs.shape[:-1]]  # the number of examples may be open
        return tuple(tf.unstack(tf.reshape(outputs, [*sizes, self.targets, 2]), axis=-1))

    def get_config(self) -> dict[str, Any]:
        return {"targets": self.targets}


def _check_like(y: tf.Tensor, means: tf.Tensor) -> None:
    # Else [n] targets and [n, 1] means would broadcast to [n, n].
    if not tf.TensorShape(y.shape).is_compatible_with(means.shape):
        raise ValueError(f"Targets must have the shape of the means, {tuple(means.shape)}. Received: shape={tuple(y.shape)}")
