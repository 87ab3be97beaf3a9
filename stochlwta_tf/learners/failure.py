"""Why a training stopped: the first term that is not finite."""

import tensorflow as tf

from stochlwta_tf.tasks.task import Task


def explain_failure(learner, tasks):
    """Replays a batch of tasks eagerly, one at a time, and names the first term of the loss or meta-gradient that is not finite.

    Args:
        learner: A `MetaLearner`.
        tasks: The `Task` batch at which training stopped.

    Returns:
        A phrase such as `"task 3, inner step 2: KL of hidden1"`.

    Example:

        explain_failure(learner, tasks.sample(iteration))
    """
    psi, state = learner.current_values()
    for i in range(tasks.key.shape[0]):
        with learner.noting_terms() as noted:
            gradient, _ = learner.task_update(psi, state, Task(*(t[i] for t in tasks)))
        terms = [(name, tf.reduce_all(tf.math.is_finite(value))) for name, value in noted]
        terms += [
            (f"meta-gradient of {v.path}, or its square", learner.usable(g))
            for v, g in zip([*learner.trainable_variables, *learner.carried], gradient)
        ]
        for name, finite in terms:
            if not finite:
                return f"task {i}, {name}"
    return "the batch as a whole (no single term of a task alone)"
