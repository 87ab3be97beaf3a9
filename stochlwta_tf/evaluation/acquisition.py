"""Acquisition scores of active learning: the pool example with the largest score is queried."""

import numpy as np

from stochlwta_tf import metrics
from stochlwta_tf.errors import ConfigurationError


def variance(draws, mean):
    """The variance over draws of the predicted mean, summed over targets: `[tasks, pool]`.

    Args:
        draws: Predicted means `[tasks, B, pool, targets]`.
        mean: Their average, unused.

    Example:

    >>> variance(np.array([[[[0.0]], [[2.0]]]]), None)
    array([[1.]])
    """
    with np.errstate(over="ignore", invalid="ignore"):  # a task that diverged has no variance
        return np.var(draws, axis=1).sum(-1)


def entropy(draws, mean):
    """The entropy of the predictive mean, −sum_c p_c log p_c: `[tasks, pool]`.

    Args:
        draws: Unused.
        mean: Class probabilities `[tasks, pool, classes]`.

    Example:

    >>> entropy(None, np.array([[[0.5, 0.5]]])).round(4)  # log 2
    array([[0.6931]])
    """
    return metrics.entropy(mean)


SCORES = {"variance": variance, "entropy": entropy}


def rank_correlation(scores, errors):
    """Spearman's rank correlation over the queries of each task: `[tasks]`; 0 where all scores or all errors are equal.

    Args:
        scores, errors: `[tasks, n]`.

    Example:

    >>> rank_correlation(np.array([[1.0, 3.0, 2.0]]), np.array([[10.0, 30.0, 20.0]]))
    array([1.])
    """
    return np.array([_correlation(_ranks(a), _ranks(b)) for a, b in zip(scores, errors, strict=True)])


def _ranks(values):
    """Ranks of a row; equal values share their mean rank."""
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[inverse]


def _correlation(a, b):
    a, b = a - a.mean(), b - b.mean()
    scale = np.sqrt(np.sum(a**2) * np.sum(b**2))
    return np.sum(a * b) / scale if scale else 0.0


def strategies(asked, learner):
    """The strategies to run: the requested one, and random choice as its baseline.

    Args:
        asked: `"auto"`, `"variance"`, `"entropy"` or `"random"`.
        learner: A `MetaLearner`.

    Raises:
        ConfigurationError: The strategy is for the other kind of tasks, or the learner's draws do not differ.

    Example:

    >>> strategies("auto", maml)
    ['random']
    """
    informed = learner.likelihood.uncertainty
    differ = learner.draws > 1 and learner.draws_differ
    if asked == "random" or asked == "auto" and not differ:
        return ["random"]
    if asked not in ("auto", informed):
        raise ConfigurationError(
            f"active_learning.strategy must be auto, {informed} or random for a {learner.likelihood.kind} likelihood. "
            f"Received: active_learning.strategy={asked}."
        )
    if not differ:
        raise ConfigurationError(
            f"active_learning.strategy={informed} needs a learner whose draws differ: evaluation.draws above 1, and sampled weights or a "
            f"stochastic network. Received: a {type(learner).__name__} with {learner.draws} draws."
        )
    return [informed, "random"]
