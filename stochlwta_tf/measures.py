"""The measures of a result: the name, label, unit and digits of each, and where its value comes from."""

import math
from typing import NamedTuple


class Measure(NamedTuple):
    """A measure.

    Attributes:
        label: In words, for printing and axes.
        unit: `"%"`, `"nats"`, `"ms"` or `""`.
        digits: Decimal places in tables.
        source: `"test"`, `"timing"`, `"parameters"` or `"training"`: the part of a result that holds it.
        key: Its name there.
        worst_is_lowest: Whether a diverged task counts as the lowest value in a median, not as the highest.
        meaning: What a measure of a test is, for readers who do not know it.
    """

    label: str
    unit: str = ""
    digits: int = 2
    source: str = "test"
    key: str | None = None
    worst_is_lowest: bool = False
    meaning: str = ""

    @property
    def worst(self) -> float:
        """What a diverged task counts as in a median."""
        return -math.inf if self.worst_is_lowest else math.inf

    @property
    def axis(self) -> str:
        """The label with the unit, for an axis or a column."""
        return f"{self.label}, {self.unit}" if self.unit else self.label


#: By name, in the order in which they are shown.
MEASURES = {
    "accuracy": Measure("accuracy", "%", worst_is_lowest=True, meaning="queries whose most probable class is the true one"),
    "mse": Measure("MSE", digits=3, meaning="mean squared error of the predictive mean"),
    "nll": Measure(
        "NLL", "nats", digits=3, meaning="−log of the probability or density of what came true; low is good, and sure errors cost most"
    ),
    "brier": Measure("Brier score", digits=3, meaning="squared distance of the probabilities from the true class, from 0 (good) to 2"),
    "ece": Measure(
        "calibration error", "%", meaning="mean gap between confidence and accuracy over 15 bins of the confidence; low is good"
    ),
    "temperature": Measure(
        "temperature, fitted on validation tasks", meaning="T of softmax(logits / T); apply it only where the NLL with it is the lower one"
    ),
    "nll_scaled": Measure("NLL after temperature scaling", "nats", digits=3, meaning="the same of softmax(logits / T)"),
    "brier_scaled": Measure("Brier score after temperature scaling", digits=3, meaning="the same of softmax(logits / T)"),
    "ece_scaled": Measure("calibration error after temperature scaling", "%", meaning="the same of softmax(logits / T)"),
    "selective80": Measure(
        "accuracy on the surest 80 %", "%", worst_is_lowest=True, meaning="on the 80 % of each task's queries with the least entropy"
    ),
    "auroc_unknown": Measure(
        "AUROC of an unknown class",
        "%",
        worst_is_lowest=True,
        meaning="probability that a query of a class without support images has the larger entropy; 50 % is chance",
    ),
    "coverage90": Measure(
        "in the 90 % band, noise-free targets",
        "%",
        worst_is_lowest=True,
        meaning="targets without noise inside the interval for noisy ones",
    ),
    "noise_std": Measure("learned noise σ", meaning="standard deviation of an observation around the curve"),
    "train_ms": Measure("time of a meta-iteration", "ms", source="timing", key="train"),
    "predict_ms": Measure("time of adapting and predicting", "ms", source="timing", key="predict"),
    "parameters_trainable": Measure("trainable parameters", digits=0, source="parameters", key="trainable"),
    "parameters_stored": Measure("stored parameters", digits=0, source="parameters", key="stored"),
    "iterations": Measure("iterations", digits=0, source="training", key="iterations"),
    "core_seconds": Measure("core seconds of training", digits=0, source="training", key="core_seconds"),
    "validation": Measure("validation score", source="training", key="validation"),
}


def measure_of(name: str) -> Measure:
    """The `Measure` of a name, which may end in the number of inner steps of the test: `"mse@10"`.

    Raises:
        KeyError: There is no such measure.

    Example:

    >>> measure_of("mse@10").label
    'MSE'
    """
    return MEASURES[name.partition("@")[0]]
