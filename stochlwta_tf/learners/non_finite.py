"""Finds why a training stopped: the first term that is not finite."""

import contextlib
from collections.abc import Callable, Iterator

import tensorflow as tf

from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.tasks.task import Task


@contextlib.contextmanager
def named_if_not_finite(message: Callable[[], str]) -> Iterator[None]:
    """Within this context a training that stops at a loss or meta-gradient that is not finite raises a `NonFiniteError`.

    Args:
        message: Function that gives the error's text, called when it is needed.
    """
    try:
        yield
    except tf.errors.InvalidArgumentError as error:
        if "not finite" not in error.message:
            raise
        raise NonFiniteError(message()) from error


def explain_failure(learner: MetaLearner, tasks: Task) -> str:
    """Replays a batch of tasks eagerly, one at a time, and names the first term of the loss or meta-gradient that is not finite.

    Args:
        learner: A `MetaLearner`.
        tasks: The `Task` batch at which training stopped.

    Returns:
        A phrase such as `"task 3, inner step 2: KL of hidden1"`.

    Example:

    >>> explain_failure(learner, tasks.sample(iteration))
    """
    psi, state = learner.current_values()
    for i in range(tasks.key.shape[0]):
        try:
            gradient, _ = learner.task_update(psi, state, Task(*(t[i] for t in tasks)))
        except NonFiniteError as error:
            return f"task {i}, {error}"
        for variable, g in zip([*learner.trainable_variables, *learner.carried], gradient):
            if not learner.finite_for_optimizer(g):
                return f"task {i}, meta-gradient of {variable.path}, or its square"
    return "the batch as a whole (no single term of a task alone)"
