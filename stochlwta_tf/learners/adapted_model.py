"""A learner adapted to one task, for users with arrays in hand."""

import functools
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

from stochlwta_tf import random
from stochlwta_tf.layers import BatchNormalization
from stochlwta_tf.learners.prediction import Labels, Prediction

if TYPE_CHECKING:
    from stochlwta_tf.learners.learner import MetaLearner

_STATISTICS = ("support", "transductive")


class AdaptedModel:
    """Made by `learner.adapt_to`: holds the adapted weights; the learner itself is unchanged.

    Batch normalisation applies the support set's mean and variance to queries, so that the prediction of a query depends on that query
    alone.  Transductive tests, where queries are normalised by their own mean and variance (Nichol et al. 2018, section 6.1), need a batch
    of queries of all classes, which a user with one query at a time does not have.

    Args:
        learner: A `MetaLearner`.
        support_x: Inputs, `[support, ...]`.
        support_y: Labels `[support]`: integers from 0, or names; or targets `[support, outputs]`.  Classes that the support set lacks
            have the probability 0.
        seed: Integer seed of the adaptation's noise.
        batch_statistics: Whose statistics batch normalisation applies to queries, whatever the learner's own option is: the support set's
            (`"support"`), or those of the queries given to one `predict` (`"transductive"`).  Without batch normalisation it has no effect.

    Raises:
        ValueError: If the arrays do not fit the network or each other, hold NaN or infinity, or `batch_statistics` is neither.

    Example:

    >>> model = AdaptedModel(learner, support_x, support_y)
    >>> model.predict(query_x).mean.shape
    (15, 5)
    """

    def __init__(
        self,
        learner: "MetaLearner",
        support_x: ArrayLike,
        support_y: ArrayLike,
        seed: int = 0,
        batch_statistics: Literal["support", "transductive"] = "support",
    ) -> None:
        if batch_statistics not in _STATISTICS:
            raise ValueError(f"`batch_statistics` must be one of {', '.join(_STATISTICS)}. Received: batch_statistics={batch_statistics!r}")
        self.learner = learner
        normalized = any(isinstance(layer, BatchNormalization) for layer in learner.network._flatten_layers())
        self._statistics = batch_statistics if normalized else None  # support statistics cost a second pass, for nothing without
        self.support_x = self._inputs("support_x", support_x)
        support_y, self._labels = self._targets(_array("support_y", support_y))
        self._key = random.key_from_seed(seed)
        psi, state = learner.current_values()
        adapt = learner.compiled_function(
            "adapt_to", lambda: tf.function(learner.adapt, jit_compile=learner.task_runner.xla, autograph=False)
        )
        self.adapted, self.state = adapt(psi, state, self.support_x, support_y, self._key)

    def predict(self, query_x: ArrayLike) -> Prediction:
        """Predicts queries `[query, ...]`: a `Prediction`.

        Raises:
            ValueError: If the queries do not fit the network, or hold NaN or infinity.
        """
        learner = self.learner
        function = functools.partial(learner.predict_adapted, batch_statistics=self._statistics)
        predict = learner.compiled_function(
            f"predict_adapted, {self._statistics}", lambda: tf.function(function, jit_compile=learner.task_runner.xla, autograph=False)
        )
        draws = predict(self.adapted, self.state, self.support_x, self._inputs("query_x", query_x), self._key)
        outputs, noise_std = learner.likelihood.split(draws)
        noise_std = noise_std.numpy() if tf.is_tensor(noise_std) else noise_std
        if self._labels is None:
            return Prediction(learner.likelihood.predictive(draws).numpy(), outputs.numpy(), noise_std)
        present = np.isin(np.arange(learner.targets), self._labels.columns)
        mean = learner.likelihood.predictive(tf.where(present, draws, -np.inf)).numpy()
        return Prediction(mean, outputs.numpy(), None, self._labels.classes, self._labels.columns)

    def _inputs(self, argument: str, x: ArrayLike) -> tf.Tensor:
        shape = self.learner.network.input_shape[1:]
        values = _array(argument, x)
        if values.dtype == np.uint8:
            raise ValueError(
                f"`{argument}` must be scaled as in training: this package's tasks have pixels from 0 to 1. Received: dtype=uint8"
            )
        tensor = _numbers(argument, values, self.learner.network.trainable_variables[0].dtype)
        if len(tensor.shape) != len(shape) + 1 or tuple(tensor.shape[1:]) != tuple(shape) or not tensor.shape[0]:
            raise ValueError(
                f"`{argument}` must have the shape [examples, {', '.join(map(str, shape))}], with at least one example. "
                f"Received: shape={tuple(tensor.shape)}"
            )
        return _finite(argument, tensor)

    def _targets(self, y: np.ndarray) -> tuple[tf.Tensor, Labels | None]:
        """The targets as a tensor, and the labels of classes."""
        labels = Labels.of(y, self.learner.targets) if self.learner.likelihood.kind == "categorical" else None
        values = y if labels is None else labels.targets
        self.learner.likelihood.check_targets(values, self.support_x.shape[0], self.learner.targets)
        if labels is not None:
            return tf.convert_to_tensor(values, tf.int32), labels
        return _finite("support_y", _numbers("support_y", y, self.support_x.dtype)), None


def _array(argument: str, values: ArrayLike) -> np.ndarray:
    try:
        return np.asarray(values)
    except (ValueError, TypeError) as error:  # lists of different lengths
        raise ValueError(f"`{argument}` must be an array, or lists of one length. Received: {type(values).__name__}") from error


def _numbers(argument: str, values: np.ndarray, dtype: Any) -> tf.Tensor:
    """An array as a tensor of the network's type."""
    if values.dtype.kind not in "biuf":
        raise ValueError(f"`{argument}` must hold numbers. Received: dtype={values.dtype}")
    return tf.cast(tf.convert_to_tensor(values), dtype)


def _finite(argument: str, tensor: tf.Tensor) -> tf.Tensor:
    """The tensor, whose values must be finite in the network's type, too: 1e39 is infinite in single precision."""
    wrong = np.argwhere(~np.isfinite(tensor.numpy()))
    if len(wrong):
        first = tuple(wrong[0].tolist())
        raise ValueError(
            f"`{argument}` must be finite. Received: {len(wrong)} of {tf.size(tensor)} values NaN or infinite, the first at {list(first)}: "
            f"{tensor.numpy()[first]}"
        )
    return tensor
