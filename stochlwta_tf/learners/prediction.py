"""What an adapted model predicts for queries, and how sure it is."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from stochlwta_tf import metrics


class Prediction(NamedTuple):
    """Predictions of an adapted model on queries, and their uncertainty.

    With p_b the class probabilities in draw b of B, and H[p] = −sum_c p_c log p_c:

        total uncertainty of a class prediction       `entropy`             H[`probabilities`], in nats
        of which the draws disagree about             `mutual_information`  H[mean_b p_b] − mean_b H[p_b]
        standard deviation of a regression target     `std`                 √(var_b f_b + mean_b noise_std_b²)

    Attributes:
        mean: Class probabilities, or regression means, averaged over draws, `[query, outputs]`.
        draws: The network's outputs (logits divided by the temperature, or means) in each of the B draws, `[B, query, outputs]`.
        noise_std: Observation std of each draw's mean: a number, or, where it is learned, `[B, query, outputs]`. None for classes.
        classes: The labels of the support set's classes, sorted, `[classes]`.  None in regression.
        columns: Which output is for each of these classes.  Other outputs have the probability 0.

    Raises:
        ValueError: What is asked for exists in regression alone, or in classification alone.

    Example:

    >>> prediction = maml.adapt_to(support_x, support_x[:, :1]).predict(query_x)
    >>> low, high = prediction.interval(0.9)
    """

    mean: np.ndarray
    draws: np.ndarray
    noise_std: float | np.ndarray | None = None
    classes: np.ndarray | None = None
    columns: np.ndarray | None = None

    @property
    def labels(self) -> np.ndarray:
        """The most probable class of each query, by the label that it has in the support set, `[query]`."""
        return self._known(self.classes, "labels")[self.probabilities.argmax(-1)]

    @property
    def probabilities(self) -> np.ndarray:
        """The probabilities of the support set's classes, in the order of `classes`, `[query, classes]`."""
        return self.mean[:, self._known(self.columns, "probabilities")]

    @property
    def entropy(self) -> np.ndarray:
        """The entropy of `probabilities`, in nats, `[query]`: 0 where one class is certain, log(classes) where all are equally probable."""
        return metrics.entropy(np.asarray(self.probabilities, "float64"))

    @property
    def mutual_information(self) -> np.ndarray:
        """How much the draws disagree, in nats, `[query]`: 0 where all have the same probabilities."""
        each = self._each_draw()
        return np.maximum(metrics.entropy(each.mean(0)) - metrics.entropy(each).mean(0), 0.0)

    @property
    def std(self) -> np.ndarray:
        """Standard deviations: of a new target, its noise included, `[query, outputs]`; of a probability over draws, `[query, classes]`."""
        if self.noise_std is None:
            return self._each_draw().std(0)
        noise = np.broadcast_to(np.square(self.noise_std), self.draws.shape)
        return np.sqrt(self.draws.var(0) + noise.mean(0))

    def interval(self, mass: float = 0.9) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper edge of the central interval that holds a new target with this probability, `[query, outputs]` each.

        Args:
            mass: The probability, between 0 and 1.

        Raises:
            ValueError: The mass is not between 0 and 1, or the predictions are of classes.
        """
        if not 0 < mass < 1:
            raise ValueError(f"`mass` must be between 0 and 1. Received: mass={mass}")
        return metrics.mixture_band(self.draws, self._known(self.noise_std, "interval"), mass)

    def _each_draw(self) -> np.ndarray:
        return softmax(np.asarray(self.draws, "float64")[..., self._known(self.columns, "mutual_information")], axis=-1)

    def _known(self, value: Any, name: str) -> Any:
        if value is None:
            kind = "classification" if self.noise_std is not None else "regression"
            raise ValueError(f"`{name}` is for {kind}. Received: predictions of {'targets' if kind == 'classification' else 'classes'}")
        return value


def too_many(classes: int, outputs: int) -> str:
    """The text of the error if there are more classes than outputs of the network; empty if not."""
    if classes <= outputs:
        return ""
    advice = "leave some out, or train with a larger task.way"
    return f"must have at most {outputs} classes, as many as in training: {advice}. Received: {classes} classes"


class Labels(NamedTuple):
    """The labels of a support set.

    Attributes:
        targets: The output of each example's class, integers `[support]`.
        classes: The labels of the classes, sorted, `[classes]`.
        columns: The output of each class, `[classes]`.
    """

    targets: np.ndarray
    classes: np.ndarray
    columns: np.ndarray

    @classmethod
    def of(cls, y: np.ndarray, outputs: int) -> "Labels":
        """From integers, which are outputs of the network, or from names, whose outputs are in alphabetical order.

        Args:
            y: Integers from 0 to `outputs` − 1, or strings, `[support]`; integers are not checked here.
            outputs: Classes that the network tells apart.

        Raises:
            ValueError: There are more names than outputs.

        Example:

        >>> Labels.of(np.array(["owl", "cat", "owl"]), outputs=5).targets
        array([1, 0, 1])
        """
        if y.dtype.kind == "O" and all(isinstance(label, str) for label in y.flat):
            y = y.astype(str)
        if y.dtype.kind == "U" and y.ndim == 1:
            classes, targets = np.unique(y, return_inverse=True)
            if wrong := too_many(len(classes), outputs):
                raise ValueError(f"`support_y` {wrong}")
            return cls(targets, classes, np.arange(len(classes)))
        present = np.unique(y) if y.dtype.kind in "iu" else np.arange(0)
        return cls(y, present, present)
