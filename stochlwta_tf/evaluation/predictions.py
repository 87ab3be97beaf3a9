"""What a learner predicts on test tasks."""

import time
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from typing_extensions import Self

from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.progress import tracked
from stochlwta_tf.tasks.task import TaskDistribution


class Predictions(NamedTuple):
    """Predictions on test tasks, as arrays whose first axis is the task.

    Attributes:
        query_y: Targets of the queries.
        draws: The network's outputs (logits, or regression means) in each draw, `[tasks, B, queries, outputs]`.
        mean: Their predictive mean: probabilities, or regression means, `[tasks, queries, outputs]`.
        seconds: Time of adapting and predicting, of each batch of tasks.
        noise_std: Observation std of regression: a number, or, where it is learned, `[tasks, B, 1, outputs]`; None for classes.
    """

    query_y: np.ndarray
    draws: np.ndarray
    mean: np.ndarray
    seconds: np.ndarray
    noise_std: float | np.ndarray | None = None

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
    batches, title = distribution.batches(tasks), f"Testing (inner_steps={learner.steps_at_test if steps is None else steps})"
    for index in tracked(batches, title, tasks, distribution.batch) if progress else batches:
        batch = distribution.sample(index)
        start = time.perf_counter()
        outputs = learner.predict_tasks(batch, steps).numpy()  # the copy waits for the device
        seconds = time.perf_counter() - start
        first = slice(tasks - index * distribution.batch)
        draws, noise_std = learner.likelihood.split(outputs[first])
        if np.ndim(noise_std):
            noise_std = np.asarray(noise_std)[:, :, :1]  # the same for every query
        mean = learner.predictive(outputs).numpy()[first]
        yield Predictions(batch.query_y.numpy()[first], np.asarray(draws), mean, np.array([seconds]), noise_std)


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
    *arrays, noise_std = zip(*in_batches(learner, distribution, tasks, progress, steps), strict=True)
    joined = np.concatenate(noise_std) if np.ndim(noise_std[0]) else noise_std[0]
    query_y, draws, mean, seconds = map(np.concatenate, arrays)
    return Predictions(query_y, draws, mean, seconds, joined)


def check_finite(outputs: np.ndarray) -> None:
    """Raises NonFiniteError unless outputs `[tasks, …]` and their squares are finite: NaN would count as class 0, sometimes correctly."""
    with np.errstate(over="ignore"):
        diverged = np.flatnonzero(~np.isfinite(np.square(outputs)).reshape(len(outputs), -1).all(1))
    if len(diverged):
        raise NonFiniteError(
            f"the predictions of {len(diverged)} of {len(outputs)} test tasks, first of task {diverged[0]}, are not finite: the inner "
            "steps diverge. evaluation.inner_clip_norm bounds them."
        )
