"""The test of a learner on new tasks, without a configuration or a run folder."""

from stochlwta_tf.evaluation.measured import Measured, tested
from stochlwta_tf.evaluation.predictions import in_batches
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.tasks.task import TaskDistribution


def evaluate(learner: MetaLearner, tasks: TaskDistribution, n: int = 600, progress: bool = False) -> dict[str, Measured]:
    """Adapts a learner to the first `n` tasks of a distribution and measures its predictions of their queries.

    Args:
        learner: A `MetaLearner`.
        tasks: A `TaskDistribution`, usually of the test split.
        n: How many tasks.
        progress: Whether to show how far it is, on standard error.

    Returns:
        `{name: Measured}`: accuracy, NLL, Brier score and calibration error, or MSE, NLL and coverage; each with the half width of its
        95 % confidence interval over tasks.

    Raises:
        NonFiniteError: Half of the tasks or more diverged.

    Example:

    >>> accuracy = evaluate(learner, Omniglot("test", batch=50, seed=0, way=5, shot=1))["accuracy"]
    >>> f"{accuracy.value:.1f} ± {accuracy.ci95:.1f} {accuracy.unit}"
    """
    return tested(in_batches(learner, tasks, n, progress), tasks.rules).measures
