"""What a learner predicts on test tasks."""

import time
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import tensorflow as tf
from typing_extensions import Self

from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.progress import tracked
from stochlwta_tf.tasks.task import Task, TaskDistribution


class Predictions(NamedTuple):
    """Predictions on test tasks, as arrays whose first axis is the task.

    Attributes:
        query_y: Targets of the queries.
        draws: The network's outputs (logits, or regression means) in each draw, `[tasks, B, queries, outputs]`.
        mean: Their predictive mean: probabilities, or regression means, `[tasks, queries, outputs]`.
        seconds: Time of adapting and predicting, of each batch of tasks.
        noise_std: Observation std of regression: a number, or, where it is learned, `[tasks, B, 1, outputs]`; None for classes.
        with_unknown: The predictive mean for the queries and then for those of one class more, `[tasks, (way + 1) q, outputs]`, where
            it was asked for.
    """

    query_y: np.ndarray
    draws: np.ndarray
    mean: np.ndarray
    seconds: np.ndarray
    noise_std: float | np.ndarray | None = None
    with_unknown: np.ndarray | None = None

    def whole(self) -> Self:
        """These predictions.

        Raises:
            NonFiniteError: Those of some tasks are not finite.
        """
        check_finite(self.draws)
        return self


def in_batches(
    learner: MetaLearner, distribution: TaskDistribution, tasks: int, progress: bool = False, steps: int | None = None
) -> Iterator[Predictions]:
    """The `Predictions` of one batch of tasks after another, as `predict`: a test of any length takes the memory of a batch."""
    for index in _tracked(distribution, tasks, learner.steps_at_test if steps is None else steps, progress):
        batch = distribution.sample(index)
        start = time.perf_counter()
        outputs = learner.predict_tasks(batch, steps).numpy()  # the copy waits for the device
        seconds = time.perf_counter() - start
        yield _of_batch(learner, batch, outputs, seconds, tasks - index * distribution.batch)


def predict_alike(
    learners: Sequence[MetaLearner], distribution: TaskDistribution, tasks: int, progress: bool = False, unknown: bool = False
) -> list[Predictions]:
    """As `predict`, of learners that adapt alike, such as twins with other `batch_statistics`: each task is adapted to once, by the first.

    Args:
        learners: `MetaLearner`s with the same weights and options but for those that only prediction reads.
        distribution: A `TaskDistribution`.
        tasks: How many.
        progress: Whether to show how far it is, on standard error.
        unknown: Whether queries of a class that is not in the support set are predicted too; the tasks must be `ImageTasks`.

    Returns:
        The `Predictions` of each learner; their times are those of adapting and of its own prediction.

    Raises:
        DataError: The split has no class more than a task.

    Example:

    >>> learner = FOMAML(networks.conv4((28, 28, 1), 5, filters=8))
    >>> transductive, support = predict_alike([learner, learner.with_options(batch_statistics="support")], tasks, 4)
    >>> transductive.mean.shape
    (4, 75, 5)
    """
    found: list[list[Predictions]] = [[] for _ in learners]
    for index in _tracked(distribution, tasks, learners[0].steps_at_test, progress):
        batch = distribution.sample(index)
        more = distribution.with_unknown(index, batch) if unknown else None
        start = time.perf_counter()
        adapted = learners[0].adapt_tasks(batch)
        tf.reshape(tf.nest.flatten(adapted)[0], [-1])[0].numpy()  # waits for the device, without a copy of all weights
        adapting, n = time.perf_counter() - start, tasks - index * distribution.batch
        for learner, of_learner in zip(learners, found, strict=True):
            start = time.perf_counter()
            outputs = learner.predict_adapted_tasks(adapted, batch).numpy()
            predictions = _of_batch(learner, batch, outputs, adapting + time.perf_counter() - start, n)
            if more is not None:
                of_all = learner.predictive(learner.predict_adapted_tasks(adapted, more)).numpy()[:n]
                predictions = predictions._replace(with_unknown=of_all)
            of_learner.append(predictions)
    return [_joined(of_learner) for of_learner in found]


def predict(
    learner: MetaLearner, distribution: TaskDistribution, tasks: int, progress: bool = False, steps: int | None = None
) -> Predictions:
    """Adapts to each of the first `tasks` tasks of a distribution and predicts its queries.

    Args:
        learner: A `MetaLearner`.
        distribution: A `TaskDistribution`.
        tasks: How many.
        progress: Whether to show how far it is, on standard error.
        steps: Inner steps, the learner's `steps_at_test` by default.

    Returns:
        `Predictions`; not finite where the adaptation to a task diverged.
    """
    return _joined(list(in_batches(learner, distribution, tasks, progress, steps)))


def _tracked(distribution: TaskDistribution, tasks: int, steps: int, progress: bool) -> Iterable[int]:
    batches = distribution.batches(tasks)
    return tracked(batches, f"Testing (inner_steps={steps})", tasks, distribution.batch) if progress else batches


def _of_batch(learner: MetaLearner, batch: Task, outputs: np.ndarray, seconds: float, n: int) -> Predictions:
    """The predictions of the first `n` tasks of a batch."""
    draws, noise_std = learner.likelihood.split(outputs[:n])
    if np.ndim(noise_std):
        noise_std = np.asarray(noise_std)[:, :, :1]  # the same for every query
    mean = learner.predictive(outputs).numpy()[:n]
    return Predictions(batch.query_y.numpy()[:n], np.asarray(draws), mean, np.array([seconds]), noise_std)


def _joined(parts: Sequence[Predictions]) -> Predictions:
    """The predictions of several batches as one."""
    columns = zip(*parts, strict=True)
    return Predictions(*(np.concatenate(column) if np.ndim(column[0]) else column[0] for column in columns))


def check_finite(outputs: np.ndarray) -> None:
    """Raises NonFiniteError unless outputs `[tasks, …]` and their squares are finite: NaN would count as class 0, sometimes correctly."""
    with np.errstate(over="ignore"):
        diverged = np.flatnonzero(~np.isfinite(np.square(outputs)).reshape(len(outputs), -1).all(1))
    if len(diverged):
        raise NonFiniteError(
            f"the predictions of {len(diverged)} of {len(outputs)} test tasks, first of task {diverged[0]}, are not finite: the inner "
            "steps diverge. evaluation.inner_clip_norm bounds them."
        )
