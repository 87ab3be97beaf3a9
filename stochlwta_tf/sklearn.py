"""Few-shot prediction in scikit-learn's manner: a trained learner as an estimator; needs scikit-learn."""

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import keras
import numpy as np
from typing_extensions import Self

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as error:
    raise ImportError("stochlwta_tf.sklearn needs scikit-learn: pip install -e '.[sklearn]'") from error

from stochlwta_tf.inference import load, read_pictures
from stochlwta_tf.learners import MetaLearner, Prediction

_CHECKS = {"allow_nd": True, "dtype": "float32"}
Model = MetaLearner | str | Path | Callable[[tuple[int, ...], int], MetaLearner]


class _FewShot(BaseEstimator):
    """What both estimators do: `fit` adapts a learner to the examples, and the meta-learned weights stay as they are."""

    temperature = 1.0  # an argument of the classifier

    def __init__(
        self,
        model: Model | None = None,
        *,
        draws: int | None = None,
        batch_statistics: Literal["support", "transductive"] = "support",
        seed: int = 0,
    ) -> None:
        self.model = model
        self.draws = draws
        self.batch_statistics = batch_statistics
        self.seed = seed

    @classmethod
    def load(cls, source: str | Path, **options: Any) -> Self:
        """The estimator of the folder of a run, or of a `.keras` file; `options` are the other arguments of the class.

        Raises:
            UserError: There is no trained model.
        """
        _loaded(str(source))
        return cls(str(source), **options)

    def prediction(self, X: Any) -> Prediction:
        """The learner's `Prediction`, with all its measures of uncertainty, for inputs or picture files `[examples, ...]`."""
        check_is_fitted(self)
        values = X if _are_files(X) else validate_data(self, X, reset=False, **_CHECKS)
        return self.adapted_.predict(self._inputs(values, X), self.temperature)

    def _checked(self, X: Any, y: Any, **checks: Any) -> tuple[Any, np.ndarray]:
        """Inputs and targets, as arrays of the same length; names of files stay as they are."""
        if not _are_files(X):
            return validate_data(self, X, y, **_CHECKS, **checks)
        y = np.asarray(y)
        if len(y) != len(X):
            raise ValueError(f"X and y must have the same number of examples. Received: {len(X)} and {len(y)}")
        return X, y

    def _adapt(self, values: Any, X: Any, y: np.ndarray, outputs: int) -> None:
        """Adapts the learner to checked `values` of `X`."""
        self.learner_ = self._learner(np.shape(values)[1:], outputs)
        learner = self.learner_.with_options(draws=self.draws) if self.draws else self.learner_
        targets = y if learner.likelihood.kind == "categorical" else y.reshape(len(y), -1)
        self.adapted_ = learner.adapt_to(self._inputs(values, X), targets, self.seed, self.batch_statistics)

    def _learner(self, shape: tuple[int, ...], outputs: int) -> MetaLearner:
        if self.model is None:
            raise ValueError(f"`model` is missing: {type(self).__name__}.load(…) takes the folder of a run. Received: model=None")
        if isinstance(self.model, (str, Path)):
            return _loaded(str(self.model))
        if isinstance(self.model, keras.Model):
            return self.model
        keras.utils.set_random_seed(self.seed)
        return self.model(shape, outputs)

    def _inputs(self, values: Any, X: Any) -> np.ndarray:
        """Inputs as the network has them: pictures are read, pixels scaled, rows of features reshaped."""
        if _are_files(values):
            return read_pictures(self.learner_, list(values))
        shape = self.learner_.example_shape
        sizes = [size for size in shape if size is not None]
        if values.ndim == 2 and len(sizes) == len(shape) and values.shape[1] == np.prod(sizes):
            values = values.reshape(-1, *sizes)
        return values / 255.0 if getattr(X, "dtype", None) == np.uint8 else values


class FewShotClassifier(ClassifierMixin, _FewShot):
    """Few-shot classification with a meta-trained learner: `fit` takes the support set, `predict` the queries.

    Labels may be anything that scikit-learn accepts.  There may be fewer classes than in the learner's training; more are an error.

    Args:
        model: The folder of a run, a `.keras` file, a learner, or a function of the inputs' shape and the number of classes that makes a
            learner.
        draws: Draws that a prediction averages; by default the learner's own.
        batch_statistics: As in `MetaLearner.adapt_to`.
        seed: Integer seed of the learner's noise.
        temperature: As in `AdaptedModel.predict`.

    Attributes:
        classes_: The labels, sorted.
        learner_: The learner, with its meta-learned weights.
        adapted_: It, adapted to the support set.

    Raises:
        ValueError: By `fit`, if the examples do not fit the learner or there are more classes than it has outputs.

    Example:

    >>> classifier = FewShotClassifier(lambda shape, classes: maml_of(shape, classes))
    >>> classifier.fit(support_x, ["cat", "dog", "cat", "dog"]).predict(query_x)
    array(['cat', 'dog'], dtype='<U3')
    """

    def __init__(
        self,
        model: Model | None = None,
        *,
        draws: int | None = None,
        batch_statistics: Literal["support", "transductive"] = "support",
        seed: int = 0,
        temperature: float = 1.0,
    ) -> None:
        super().__init__(model, draws=draws, batch_statistics=batch_statistics, seed=seed)
        self.temperature = temperature

    def fit(self, X: Any, y: Any) -> Self:
        """Adapts to a support set.

        Args:
            X: Inputs `[support, ...]`: floats as in training; uint8 pixels, which are scaled; rows that are reshaped to the network's
                input; or names of picture files.
            y: Labels `[support]`.
        """
        values, labels = self._checked(X, y)
        check_classification_targets(labels)
        self.classes_, targets = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(f"{type(self).__name__} needs samples of 2 classes or more. Received: one class, {self.classes_[0]!r}")
        self._adapt(values, X, targets, len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Class probabilities, in the order of `classes_`, `[query, classes]`."""
        probabilities = np.asarray(self.prediction(X).probabilities, "float64")
        return probabilities / probabilities.sum(-1, keepdims=True)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable label of each query, `[query]`."""
        most_probable = self.predict_proba(X).argmax(-1)
        return self.classes_[most_probable]


class FewShotRegressor(RegressorMixin, _FewShot):
    """Few-shot regression with a meta-trained learner: `fit` takes the support set, `predict` the queries.

    Args:
        model, draws, batch_statistics, seed: As in `FewShotClassifier`.

    Attributes:
        learner_: The learner, with its meta-learned weights.
        adapted_: It, adapted to the support set.

    Raises:
        ValueError: By `fit`, if the examples do not fit the learner.

    Example:

    >>> mean, std = FewShotRegressor.load("runs/sinusoid_default-seed0").fit(x, y).predict(new_x, return_std=True)
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Adapts to a support set: inputs as in `FewShotClassifier.fit`, and targets `[support]` or `[support, outputs]`."""
        values, targets = self._checked(X, y, multi_output=True, y_numeric=True)
        self._flat = targets.ndim == 1
        self._adapt(values, X, targets, 1 if self._flat else targets.shape[1])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: Any, return_std: bool = False) -> np.ndarray | tuple[np.ndarray, np.ndarray]:
        """Predictive means in the shape of the targets; with `return_std` also the standard deviations of new targets, noise included."""
        prediction = self.prediction(X)
        arrays = (np.asarray(values, "float64") for values in (prediction.mean, prediction.std))
        mean, std = (values[:, 0] if self._flat else values for values in arrays)
        return (mean, std) if return_std else mean


def _are_files(X: Any) -> bool:
    return isinstance(X, (list, tuple, np.ndarray)) and len(X) > 0 and all(isinstance(file, (str, Path)) for file in X)


@functools.lru_cache(maxsize=8)  # cross-validation fits many times, and a learner compiles once
def _loaded(source: str) -> MetaLearner:
    return load(source)
