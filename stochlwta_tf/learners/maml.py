"""MAML, and its first-order approximation FOMAML."""

import functools
from typing import Annotated, Any, Literal

import keras
import tensorflow as tf
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.learners.compiled_model import TRAINING_ONLY
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.learners.meta_gradient import MetaGradientLearner


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class MAML(MetaGradientLearner):
    """Meta-learns initial weights from which a few gradient steps lead to a low loss on queries.

    Finn, Abbeel & Levine, *Model-Agnostic Meta-Learning for Fast Adaptation of Deep Networks* (ICML 2017):

        w_0 = psi,    w_{i+1} = w_i − eta ∇ nll(support; w_i),    psi ← psi − outer step on ∇_psi mean over tasks of nll(query; w_k)

    with nll the mean negative log-likelihood of the examples (plus the KL terms of the network's layers, where they have a weight).  The
    meta-gradient goes through the inner steps; with `order=1` (FOMAML) the inner gradients count as constants, so that it is the gradient
    of the query loss at w_k.

    Args:
        network: A built `keras.Model`.
        order: 2, or 1 for FOMAML.
        learn_inner_rates: Whether eta is learned too, one rate for each weight (Li et al., *Meta-SGD*, 2017).
        multi_step_loss: Whether the meta-loss is the mean of the query's losses after each inner step (Antoniou et al., *How to train your
            MAML*, 2019), rather than the loss after the last.
        zero_head: Whether every task starts from a head of zeros, rather than from learned weights: no class is preferred before the first
            step, whatever its number in a task (Kao, Chiu & Chen, *MAML is a Noisy Contrastive Learner in Classification*, 2022).
        **kwargs: Arguments of `MetaLearner`.

    Example:

    >>> learner = MAML(networks.conv4((28, 28, 1), 5), inner_lr=0.4)
    >>> learner.compile(keras.optimizers.Adam(0.001))
    >>> learner.fit(Omniglot("train", batch=16, seed=0).dataset(), steps_per_epoch=5000)
    """

    def __init__(
        self,
        network: keras.Model,
        *,
        order: Annotated[int, Field(ge=1, le=2), TRAINING_ONLY] = 2,
        learn_inner_rates: Annotated[bool, TRAINING_ONLY] = False,
        multi_step_loss: Annotated[bool, TRAINING_ONLY] = False,
        zero_head: bool = False,
        inner_loss: Literal["sum", "mean"] = "mean",
        **kwargs: Any,
    ) -> None:
        super().__init__(network, inner_loss=inner_loss, **kwargs)
        if order not in (1, 2):
            raise ValueError(f"`order` must be 1 or 2. Received: order={order!r}")
        self.order = order
        self.learn_inner_rates = learn_inner_rates
        self.multi_step_loss = multi_step_loss
        self.zero_head = zero_head
        if zero_head and self.likelihood.kind != "categorical":
            raise ValueError(f"`zero_head` needs classes. Received: zero_head=True, likelihood={self.likelihood.kind!r}")
        if zero_head and not head_weights(network, self.targets):
            raise ValueError(f"`zero_head` needs a network whose last layer with weights is its head. Received: network={network}")
        if learn_inner_rates:
            self.inner_rates = self.add_group("rate", keras.initializers.Constant(self.inner_lr))

    def initial(self, psi):
        """The network's initial weights, and the inner rates."""
        weights, rates = list(psi), self.inner_lr
        if self.learn_inner_rates:
            weights, rates = self.values_of(psi, self.network.trainable_variables, self.inner_rates)
        return self.without_head(weights) if self.zero_head else weights, rates

    def without_head(self, values):
        """Values of the network's weights, with zeros for those of its head."""
        head = {id(v) for v in head_weights(self.network, self.targets)}
        return [tf.zeros_like(value) if id(v) in head else value for v, value in zip(self.network.trainable_variables, values)]

    def inner_step(self, i, weights, state, rates, x, y, key):
        """Step number `i` on a support set: new weights and state."""
        gradients, state = self.inner_gradient(weights, state, x, y, random.fold_in(key, i, Stream.INNER_STEP), f"inner step {i}")
        if self.order == 1:
            gradients = [tf.stop_gradient(g) for g in gradients]
        return self.descend(weights, gradients, rates), state

    def adapt(self, psi, state, support_x, support_y, key, steps=None):
        weights, rates = self.initial(psi)

        def step(i, weights, state):
            return self.inner_step(i, weights, state, rates, support_x, support_y, key)

        steps = self.steps_at_test if steps is None else steps
        return self.task_runner.repeat(step, steps, weights, list(state))

    def meta_loss(self, psi, state, task):
        weights, rates = self.initial(psi)
        losses = []
        for i in range(self.inner_steps + 1):
            if i == self.inner_steps or (self.multi_step_loss and i):
                loss, score = self.loss_after(i, weights, state, task)
                losses.append(loss)
            if i < self.inner_steps:  # unrolled: XLA has no gradient of a loop of tf.vectorized_map
                weights, state = self.inner_step(i, weights, state, rates, task.support_x, task.support_y, task.key)
        return tf.add_n(losses) / len(losses), score

    def loss_after(self, steps, weights, state, task):
        """The query loss of the weights after a number of inner steps, and the score."""
        key = random.fold_in(task.key, steps, Stream.META_LOSS)
        loss, outputs = self.query_loss(weights, state, task, key, "mean", f"meta-loss after {steps} steps")
        return loss, self.query_score(task, outputs[None])

    def task_update(self, psi, state, task):
        if self.order == 2 or self.learn_inner_rates or self.multi_step_loss:
            return super().task_update(psi, state, task)
        # No gradient goes through the inner steps, so they may be a loop, which takes the memory of one step.
        weights, state = self.adapt(psi, state, task.support_x, task.support_y, task.key, self.inner_steps)
        gradient, logs = self.update_by(functools.partial(self.loss_after, self.inner_steps), weights, state, task)
        return self.without_head(gradient) if self.zero_head else gradient, logs


def head_weights(network: keras.Model, outputs: int) -> list[keras.Variable]:
    """The weights (the means of Gaussian ones) and biases of a network's head; empty if it does not end in a layer of `outputs` units."""
    head = _head(network, outputs)
    found = [v for v in head.trainable_variables if v is not getattr(head, "rho", None)] if head else []
    return found if all(tuple(v.shape[-1:]) == (outputs,) for v in found) else []


def _head(network: keras.Model, outputs: int) -> keras.layers.Layer | None:
    """The last layer with weights on the way to a network's output; of one that is no graph, the only one that could be it."""
    if not getattr(network, "outputs", None):
        layers = [layer for layer in network._flatten_layers(include_self=False) if not list(layer._flatten_layers(include_self=False))]
        fitting = [layer for layer in layers if layer.trainable_variables and layer.trainable_variables[0].shape[-1] == outputs]
        return fitting[0] if len(fitting) == 1 else None
    tensor = network.outputs[0]
    while True:
        layer, node, _ = tensor._keras_history
        if getattr(layer, "trainable_variables", None):
            return _head(layer, outputs) if isinstance(layer, keras.Model) else layer
        before = layer._inbound_nodes[node].input_tensors
        if len(before) != 1:  # several branches, or the input itself
            return None
        tensor = before[0]


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class FOMAML(MAML):
    """First-order MAML: `MAML` with `order=1`, under its own name."""

    def __init__(self, network: keras.Model, *, order: Annotated[int, Field(ge=1, le=1), TRAINING_ONLY] = 1, **kwargs: Any) -> None:
        super().__init__(network, order=order, **kwargs)
