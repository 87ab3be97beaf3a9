"""A learner adapted to one task, for users with arrays in hand."""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import tensorflow as tf
from numpy.typing import ArrayLike

from stochlwta_tf import random
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.layers.batch_normalization import normalizes
from stochlwta_tf.learners.prediction import Labels, Prediction
from stochlwta_tf.learners.task_runner import own_function
from stochlwta_tf.tasks import images_of

if TYPE_CHECKING:
    from stochlwta_tf.learners.learner import MetaLearner

_STATISTICS = ("support", "transductive")


class AdaptedModel:
    """Made by `learner.adapt_to`: holds the adapted weights; the learner itself is unchanged.

    Batch normalisation applies the support set's mean and variance to queries, so that the prediction of a query depends on that query
    alone.  Transductive tests, where queries are normalised by their own mean and variance (Nichol et al. 2018, section 6.1), need a batch
    of queries of all classes, which a user with one query at a time does not have.

    What it runs is compiled once for each learner, whatever the numbers of examples and of queries.

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
        # Without batch normalisation a second pass, for the support set's statistics, would be for nothing.
        self._statistics = batch_statistics if normalizes(learner.network) else None
        self.support_x = self._inputs("support_x", support_x)
        support_y, self._labels = self._targets(_array("support_y", support_y))
        self._key = random.key_from_seed(seed)
        values = (*learner.current_values(), self.support_x, support_y, self._key)
        adapt = learner.compiled_function("adapt_to", lambda: self._for_any_number(learner.adapt, values))
        self.adapted, self.state = adapt(*values)

    def predict(self, query_x: ArrayLike, temperature: float = 1.0) -> Prediction:
        """Predicts queries: a `Prediction`.

        Args:
            query_x: Inputs `[query, ...]`.
            temperature: T of softmax(logits / T) in classification (Guo et al. 2017), for calibrated probabilities: a test with
                `evaluation.uncertainty=true` fits it on validation tasks.

        Raises:
            ValueError: If the queries do not fit the network, or hold NaN or infinity, or the temperature is not above 0.
            NonFiniteError: If the predictions are not finite, since the inner steps diverged.
        """
        learner = self.learner
        if not 0 < temperature < float("inf") or (temperature != 1 and self._labels is None):
            raise ValueError(f"`temperature` must be a number above 0, and 1 in regression. Received: temperature={temperature}")
        function = functools.partial(learner.predict_adapted, batch_statistics=self._statistics)
        values = (self.adapted, self.state, self.support_x, self._inputs("query_x", query_x), self._key)
        predict = learner.compiled_function(f"predict_adapted, {self._statistics}", lambda: self._for_any_number(function, values))
        draws = predict(*values)
        draws = draws if temperature == 1 else draws / tf.cast(temperature, draws.dtype)
        outputs, noise_std = learner.likelihood.split(draws)
        noise_std = noise_std.numpy() if tf.is_tensor(noise_std) else noise_std
        if self._labels is None:
            prediction = Prediction(learner.likelihood.predictive(draws).numpy(), outputs.numpy(), noise_std)
        else:
            present = np.isin(np.arange(learner.targets), self._labels.columns)
            mean = learner.likelihood.predictive(tf.where(present, draws, tf.constant(-np.inf, draws.dtype))).numpy()
            prediction = Prediction(mean, outputs.numpy(), None, self._labels.classes, self._labels.columns)
        if not np.isfinite(prediction.mean).all():
            wrong = int((~np.isfinite(prediction.mean)).any(-1).sum())
            raise NonFiniteError(
                f"The predictions are not finite: the inner steps diverged on this support set, at inner_lr={learner.inner_lr}. "
                f"A smaller rate or `inner_clip_norm` helps. Received: NaN or infinity for {wrong} of {len(prediction.mean)} queries"
            )
        return prediction

    def _for_any_number(self, function: Callable, values: Sequence[Any]) -> Callable:
        """A function of (two lists, two tensors of examples, a key), compiled once for any number of examples.

        Without XLA, which would compile a program, for seconds, and keep it, for each number of examples.  Padding would not do: batch
        statistics, noise, the mean of a loss and layers that compare examples must see the examples alone.
        """
        *lists, first, second, key = (tf.nest.map_structure(lambda t: tf.TensorSpec(t.shape, t.dtype), value) for value in values)
        inputs = (None, *self.learner.example_shape)
        examples = [tf.TensorSpec(inputs if x.shape.is_compatible_with(inputs) else (None, *x.shape[1:]), x.dtype) for x in (first, second)]
        return own_function(function, input_signature=[*lists, *examples, key])

    def _inputs(self, argument: str, x: ArrayLike) -> tf.Tensor:
        shape = self.learner.example_shape
        values = _array(argument, x)
        if values.dtype == np.uint8:
            raise ValueError(
                f"`{argument}` must be scaled as in training: this package's tasks have pixels from 0 to 1. Received: dtype=uint8"
            )
        tensor = _numbers(argument, values, self.learner.network.trainable_variables[0].dtype)
        if not tensor.shape.is_compatible_with((None, *shape)) or 0 in tensor.shape:
            raise ValueError(
                f"`{argument}` must have the shape [examples, {', '.join(map(str, shape))}], with at least one example. "
                f"Received: shape={tuple(tensor.shape)}"
            )
        if images_of(self.learner.trained_on.get("task", {})):
            _check_pixels(argument, tensor)
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


def _check_pixels(argument: str, tensor: tf.Tensor) -> None:
    """Raises a ValueError for pixels on another scale than 0 to 1, some way beyond which a resized image may go."""
    low, high = float(tf.reduce_min(tensor)), float(tf.reduce_max(tensor))
    if low < -0.5 or high > 1.5:
        raise ValueError(f"`{argument}` must have pixels from 0 to 1, as in training. Received: values from {low:g} to {high:g}")


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
