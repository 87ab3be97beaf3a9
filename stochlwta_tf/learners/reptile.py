"""Reptile."""

from typing import Annotated, Literal

import keras
import tensorflow as tf
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.learners.learner import MetaLearner


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class Reptile(MetaLearner):
    """The meta-learned weights move towards the weights adapted to each task.

    Nichol, Achiam & Schulman, *On First-Order Meta-Learning Algorithms* (2018).  Of each task psi' is k inner steps on the negative
    log-likelihood of (minibatches of) its support set, from psi; then

        psi ← psi + beta mean(psi' − psi)

    which is an SGD step of rate beta on the meta-gradient mean(psi − psi'): give `compile` the SGD with beta's schedule.

    Args:
        network: A built `keras.Model`.
        inner_optimizer: `"sgd"`, or `"adam"` with beta1 = 0; its state starts anew in each task.
        inner_batch: Examples in a minibatch of a training step; all of the support set by default. Minibatches go through a new
            permutation in every epoch.
        **kwargs: Arguments of `MetaLearner`.

    Example:

    >>> learner = Reptile(networks.conv4((28, 28, 1), 5), inner_optimizer="adam", inner_lr=0.001, inner_loss="mean", inner_batch=10)
    >>> learner.compile(keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(1.0, 100_000, 0.0)))
    """

    training_options = (*MetaLearner.training_options, "inner_batch")

    def __init__(
        self,
        network,
        *,
        inner_optimizer: Literal["sgd", "adam"] = "sgd",
        inner_batch: Annotated[int, Field(ge=1)] | None = None,
        inner_lr: Annotated[float, Field(gt=0)] = 0.003,
        inner_loss: Literal["sum", "mean"] = "sum",
        **kwargs,
    ):
        super().__init__(network, inner_lr=inner_lr, inner_loss=inner_loss, **kwargs)
        self.inner_optimizer = inner_optimizer
        self.inner_batch = inner_batch

    def inner_objective(self, y, outputs, losses, label):
        """What an inner step descends: Reptile knows no KL terms."""
        return self.objective(y, outputs, {}, self.inner_loss, label)

    def inner_steps_from(self, psi, state, x, y, key, steps, minibatch=None):
        """k inner steps: adapted weights, state, and the last step's loss and score."""
        # XLA compiles the body of a loop of no steps too, which could not read an empty table of indices.
        indices = minibatches(key, x.shape[0], minibatch, steps) if minibatch and steps else None
        zero = tf.zeros([], psi[0].dtype)

        def step(i, weights, state, squares, *_):
            step_x, step_y = (x, y) if indices is None else (tf.gather(x, indices[i]), tf.gather(y, indices[i]))
            with tf.GradientTape() as tape:
                tape.watch(weights)
                step_key = random.fold_in(key, i, Stream.INNER_STEP)
                outputs, state, losses = self.call_network(weights, state, step_x, step_key, training=True)
                loss = self.inner_objective(step_y, outputs, losses, f"inner step {i}")
            gradients = tape.gradient(loss, weights, unconnected_gradients="zero")
            directions = self.clipped(gradients)
            if self.inner_optimizer == "adam":
                directions, squares = _adam(directions, squares, tf.cast(i + 1, loss.dtype))
            score = self.likelihood.score(step_y, self.likelihood.predictive(outputs[None]))
            return i + 1, self.step(weights, directions, self.inner_lr), state, squares, loss, score

        squares = [tf.zeros_like(w) for w in psi] if self.inner_optimizer == "adam" else []
        start = (tf.constant(0), list(psi), list(state), squares, zero, zero)
        _, weights, state, _, loss, score = tf.while_loop(lambda i, *_: i < steps, step, start, maximum_iterations=steps)
        return weights, state, loss, score

    def adapt(self, psi, state, support_x, support_y, key):
        weights, state, _, _ = self.inner_steps_from(psi, state, support_x, support_y, key, self.steps_at_test)
        return weights, state

    def task_update(self, psi, state, task):
        weights, _, loss, score = self.inner_steps_from(
            psi, state, task.support_x, task.support_y, task.key, self.inner_steps, self.inner_batch
        )
        # The mean of the differences, not psi − mean(psi'): differences of rho are so small that the latter is 2 % rounding error.
        return [p - w for p, w in zip(psi, weights)], (loss, score)

    def get_config(self):
        return {**super().get_config(), "inner_optimizer": self.inner_optimizer, "inner_batch": self.inner_batch}


def minibatches(key, examples, batch, steps):
    """Indices `[steps, batch]`: consecutive pieces of one permutation after another, so that each epoch sees every example once."""
    epochs = -(-steps * batch // examples)
    order = tf.argsort(random.uniform(random.fold_in(key, 0, Stream.MINIBATCH), (epochs, examples)), axis=-1)
    return tf.reshape(tf.reshape(order, [-1])[: steps * batch], [steps, batch])


def _adam(gradients, squares, step, beta2=0.999, epsilon=1e-8):
    """Adam with beta1 = 0: the direction of a step, and the new second moments."""
    squares = [beta2 * s + (1 - beta2) * tf.square(g) for s, g in zip(squares, gradients)]
    correction = 1 - tf.pow(tf.cast(beta2, step.dtype), step)
    return [g / (tf.sqrt(s / correction) + epsilon) for g, s in zip(gradients, squares)], squares
