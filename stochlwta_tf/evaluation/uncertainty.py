"""What a classifier's uncertainty is worth: calibration after temperature scaling, selective prediction, and queries of unknown classes."""

import math

import numpy as np
from scipy import optimize

from stochlwta_tf import intervals, metrics
from stochlwta_tf.evaluation import measured
from stochlwta_tf.evaluation.measured import Measured, per_task_measures
from stochlwta_tf.evaluation.predictions import Predictions
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.tasks.protocols import Rules

_RANGE, _STEP = (-3.0, 3.0), 0.05  # of log10 of the temperature, and in its finite differences


def measures_of(learner: MetaLearner, predictions: Predictions, fitted: Predictions, rules: Rules) -> dict[str, Measured]:
    """The measures of uncertainty of a classification test.

    - `nll_scaled`, `brier_scaled`, `ece_scaled`: after temperature scaling (Guo et al., *On Calibration of Modern Neural Networks*, ICML
      2017), softmax(logits / T) with one T for all tasks, that of the least negative log-likelihood on validation tasks; `temperature`;
    - `selective80`: the accuracy on the 80 % of each task's queries with the least entropy;
    - `auroc_unknown`: the probability that a query of a class that is not in the support set has a larger entropy than one that is.

    Args:
        learner: A `MetaLearner`.
        predictions: `Predictions` of the test tasks, with those for queries of an unknown class.
        fitted: `Predictions` of validation tasks, on which the temperature is fitted.
        rules: The `Rules` by which the test tasks are scored.

    Returns:
        `{name: Measured}`.

    Raises:
        NonFiniteError: Half of the tasks or more diverged.

    Example:

    >>> (predictions,) = predict_alike([learner], tests, 600, unknown=True)
    >>> measures_of(learner, predictions, predict(learner, validation, 100), tests.rules)["auroc_unknown"].value
    """
    temperature, half = fit_temperature(learner, fitted)
    scaled = measured.measures_of(at_temperature(learner, predictions, temperature), rules)
    diverged = metrics.diverged(predictions.draws)
    p, y = predictions.mean[~diverged], predictions.query_y[~diverged]
    auroc = unknown_class(predictions)
    return {
        **{f"{name}_scaled": scaled[name] for name in ("nll", "brier", "ece")},
        "temperature": Measured(temperature, half, ""),
        **per_task_measures({"selective80": 100 * metrics.selective_accuracy(p, y, 0.8)}, diverged),
        **per_task_measures({"auroc_unknown": 100 * auroc[np.isfinite(auroc)]}, ~np.isfinite(auroc)),
    }


def fit_temperature(learner: MetaLearner, predictions: Predictions) -> tuple[float, float]:
    """The temperature of the least negative log-likelihood of predictions of finite tasks, and half of its 95 % interval over them.

    The interval is that of an M-estimator: the standard error of log T is that of the mean slope of the tasks' NLL, over its curvature.
    """
    finite = ~metrics.diverged(predictions.draws)
    of = predictions._replace(draws=predictions.draws[finite], mean=predictions.mean[finite], query_y=predictions.query_y[finite])

    def nll(log: float) -> np.ndarray:
        return metrics.categorical_nll(at_temperature(learner, of, 10**log).mean, of.query_y)

    best = float(optimize.minimize_scalar(lambda log: float(nll(log).mean()), bounds=_RANGE, method="bounded", options={"xatol": 1e-4}).x)
    below, at, above = (nll(best + shift) for shift in (-_STEP, 0.0, _STEP))
    curvature = float((above - 2 * at + below).mean()) / _STEP**2
    if len(at) < 2 or curvature <= 0:  # any temperature is as likely
        return 10**best, 10 ** _RANGE[1]
    slope = intervals.mean_and_ci95((above - below) / (2 * _STEP))[1]
    return 10**best, min(10**best * math.log(10) * slope / curvature, 10 ** _RANGE[1])


def at_temperature(learner: MetaLearner, predictions: Predictions, temperature: float) -> Predictions:
    """Predictions from the logits of each draw divided by a temperature."""
    return predictions._replace(mean=learner.predictive(predictions.draws / np.float32(temperature)).numpy())


def unknown_class(predictions: Predictions) -> np.ndarray:
    """The AUROC of the entropy for queries of an unknown class, of each task, `[tasks]`; NaN where a task diverged.

    A task has queries of its own classes, and then as many of one more.
    """
    of_all = predictions.with_unknown
    assert of_all is not None, "predictions have those for queries of an unknown class"
    with np.errstate(invalid="ignore"):
        entropies = metrics.entropy(of_all.astype("float64"))
    unknown = np.arange(of_all.shape[1]) >= predictions.query_y.shape[1]
    return metrics.auroc(entropies, np.broadcast_to(unknown, entropies.shape))
