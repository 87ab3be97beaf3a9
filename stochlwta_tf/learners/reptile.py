"""Reptile."""

from typing import Annotated, Any, Literal

import keras
import tensorflow as tf
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.learners.compiled_model import TRAINING_ONLY
from stochlwta_tf.learners.functional import NO_LOSSES, Stream
from stochlwta_tf.learners.learner import MetaLearner


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class Reptile(MetaLearner):
    """The meta-learned weights move towards the weights adapted to each task.

    Nichol, Achiam & Schulman, *On First-Order Meta-Learning Algorithms* (2018).  For each task, psi' is the result of k inner steps
    from psi on the negative log-likelihood of (minibatches of) its support set; then

        psi ← psi + beta mean(psi' − psi)

    which is an SGD step of rate beta on the meta-gradient mean(psi − psi'): pass `compile` an SGD with the schedule of beta.

    The inner Adam keeps its second moments v and its count of steps from task to task, as in the authors' code, which restores only
    the weights after a task: a task's steps start from the v of earlier tasks, and so does a test, which leaves v unchanged.
    Here the tasks of a batch start from the same v, and the next batch starts from the mean of theirs.  With v reset for each task, the
    first step moves every weight by the inner rate, however small its gradient.

    Args:
        network: A built `keras.Model`.
        inner_optimizer: `"sgd"`, or `"adam"` with beta1 = 0.
        inner_optimizer_state: `"persistent"`, or `"reset"` for an Adam that starts at zero in each task.
        inner_batch: Examples in a minibatch of a training step; all of the support set by default. Minibatches go through a new
            permutation in every epoch.
        **kwargs: Arguments of `MetaLearner`.

    Example:

    >>> learner = Reptile(networks.conv4((28, 28, 1), 5), inner_optimizer="adam", inner_lr=0.001, inner_loss="mean", inner_batch=10)
    >>> learner.compile(keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(1.0, 100_000, 0.0)))
    """

    def __init__(
        self,
        network: keras.Model,
        *,
        inner_optimizer: Literal["sgd", "adam"] = "sgd",
        inner_optimizer_state: Literal["persistent", "reset"] = "persistent",
        inner_batch: Annotated[Annotated[int, Field(ge=1)] | None, TRAINING_ONLY] = None,
        inner_lr: Annotated[float, Field(gt=0)] = 0.003,
        inner_loss: Literal["sum", "mean"] = "sum",
        **kwargs: Any,
    ) -> None:
        super().__init__(network, inner_lr=inner_lr, inner_loss=inner_loss, **kwargs)
        self.inner_optimizer = inner_optimizer
        self.inner_optimizer_state = inner_optimizer_state
        self.inner_batch = inner_batch
        if inner_optimizer == "adam" and inner_optimizer_state == "persistent":
            weights = self.network.trainable_variables
            moments = [(f"second_moment_{v.name}", v.shape) for v in weights]
            self.carried = [
                self.add_weight(shape=shape, dtype=weights[0].dtype, initializer="zeros", trainable=False, aggregation="mean", name=name)
                for name, shape in [*moments, ("inner_iterations", ())]
            ]

    def inner_objective(self, y, outputs, losses, label):
        """The objective of an inner step: Reptile has no KL terms."""
        return self.objective(y, outputs, NO_LOSSES, self.inner_loss, label)

    def adam_state(self, psi):
        """The inner Adam's second moments and number of steps at the start of a task; empty for SGD."""
        weights, carried = self.parted(psi)
        if self.inner_optimizer == "sgd":
            return []
        return carried or [*(tf.zeros_like(w) for w in weights), tf.zeros([], weights[0].dtype)]

    def inner_steps_from(self, psi, state, x, y, key, steps, minibatch=None):
        """k inner steps: adapted weights, state, the inner Adam's state, and the last step's loss and score."""
        # XLA compiles the body of a loop of no steps too, which could not read an empty table of indices.
        indices = minibatches(key, x.shape[0], minibatch, steps) if minibatch and steps else None
        zero = tf.zeros([], psi[0].dtype)

        def step(i, weights, state, adam, *_):
            step_x, step_y = (x, y) if indices is None else (tf.gather(x, indices[i]), tf.gather(y, indices[i]))
            with tf.GradientTape() as tape:
                tape.watch(weights)
                step_key = random.fold_in(key, i, Stream.INNER_STEP)
                outputs, state, losses = self.call_network(weights, state, step_x, step_key, training=True)
                loss = self.inner_objective(step_y, outputs, losses, f"inner step {i}")
            gradients = self.gradient(tape, loss, weights)
            directions = self.clipped(gradients)
            if self.inner_optimizer == "adam":
                directions, adam = _adam(directions, adam)
            score = self.likelihood.score(step_y, self.likelihood.predictive(outputs[None]))
            return self.step(weights, directions, self.inner_lr), state, adam, loss, score

        return self.task_runner.repeat(step, steps, self.parted(psi)[0], list(state), self.adam_state(psi), zero, zero)

    def adapt(self, psi, state, support_x, support_y, key, steps=None):
        steps = self.steps_at_test if steps is None else steps
        weights, state, *_ = self.inner_steps_from(psi, state, support_x, support_y, key, steps)
        return weights, state

    def task_update(self, psi, state, task):
        weights, _, adam, loss, score = self.inner_steps_from(
            psi, state, task.support_x, task.support_y, task.key, self.inner_steps, self.inner_batch
        )
        after = [*weights, *adam] if self.carried else weights
        # The mean of the differences, not psi − mean(psi'): differences of rho are so small that rounding would show in the latter.
        return [p - w for p, w in zip(psi, after, strict=True)], (loss, score)


def minibatches(key, examples, batch, steps):
    """Indices `[steps, batch]`: consecutive pieces of one permutation after another, so that each epoch sees every example once."""
    epochs = -(-steps * batch // examples)
    order = tf.argsort(random.uniform(random.fold_in(key, 0, Stream.MINIBATCH), (epochs, examples)), axis=-1)
    return tf.reshape(tf.reshape(order, [-1])[: steps * batch], [steps, batch])


def _adam(gradients, state, beta2=0.999, epsilon=1e-8):
    """Adam with beta1 = 0: the direction of a step, and the new second moments with the number of steps."""
    *squares, steps = state
    steps = steps + 1
    squares = [beta2 * s + (1 - beta2) * tf.square(g) for s, g in zip(squares, gradients)]
    correction = 1 - tf.pow(tf.cast(beta2, steps.dtype), steps)
    return [g / (tf.sqrt(s / correction) + epsilon) for g, s in zip(gradients, squares)], [*squares, steps]
