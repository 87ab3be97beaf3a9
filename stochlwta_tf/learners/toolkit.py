"""What an author of a method builds it from: calls of the network, losses and steps of one task, and their batches."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

import keras
import tensorflow as tf

from stochlwta_tf import random
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.layers.batch_normalization import stored_statistics
from stochlwta_tf.learners import precision
from stochlwta_tf.learners.compiled_model import CompiledModel
from stochlwta_tf.learners.functional import LayerLosses, Stream, functional_call, with_noise_key
from stochlwta_tf.learners.replicas import Runner
from stochlwta_tf.learners.task_runner import TaskRunner
from stochlwta_tf.objectives import Likelihood
from stochlwta_tf.tasks.task import Task

_TINY = 1e-30
Tensors = list[tf.Tensor]


class MethodToolkit(CompiledModel):
    """Base of `MetaLearner`: the pure functions of one task that a method implements, and those that it is built from.

    All are on plain tensors: `psi` are the values of `learner.trainable_variables` and then of `learner.carried`, `weights` those of the
    network's trainable variables, `state` those of its non-trainable ones, and `key` is a uint32 `[2]`.  A method implements `adapt` and
    `task_update`, and `predict_adapted` where it does not sample the network B times.

    Attributes:
        task_runner: The `TaskRunner` that maps functions of one task over a batch.
        batch_runner: The same for the batches of training and validation, which `compile` may divide.
        carried: Variables that no optimizer trains and that training carries from one batch of tasks to the next.  Their values come
            last in psi; `task_update` returns for each the difference from its new value, whose mean over tasks is subtracted.

    Example:

    >>> psi, state = learner.current_values()
    >>> adapted, state = learner.adapt(psi, state, task.support_x, task.support_y, task.key)
    """

    network: keras.Model
    likelihood: Likelihood
    task_runner: TaskRunner
    batch_runner: Runner
    carried: list[keras.Variable]
    inner_clip_norm: float | None
    inner_steps: int
    test_inner_steps: int | None
    draws: int
    batch_statistics: str

    def call_network(
        self,
        weights: Sequence[tf.Tensor],
        state: Sequence[tf.Tensor],
        x: tf.Tensor,
        key: tf.Tensor,
        training: bool,
        probe: keras.Model | None = None,
    ) -> tuple[Any, Tensors, LayerLosses]:
        """The network's outputs, new state and `LayerLosses` under given weights, with noise from `key`; see `functional_call`."""
        return functional_call(self.network, weights, with_noise_key(self.network, state, key), x, training, probe)

    def call_on_query(
        self,
        weights: Sequence[tf.Tensor],
        state: Sequence[tf.Tensor],
        support_x: tf.Tensor,
        query_x: tf.Tensor,
        key: tf.Tensor,
        training: bool,
        probe: keras.Model | None = None,
        batch_statistics: Literal["transductive", "support"] | None = None,
    ) -> tuple[Any, Tensors, LayerLosses]:
        """As `call_network`, on queries: with the support set's batch statistics where `batch_statistics`, or else the option, says so."""
        if (batch_statistics or self.batch_statistics) == "transductive":
            return self.call_network(weights, state, query_x, key, training, probe)
        _, state, _ = self.call_network(weights, state, support_x, key, training)
        with stored_statistics():
            return self.call_network(weights, state, query_x, key, training, probe)

    def objective(self, y: tf.Tensor, outputs: tf.Tensor, losses: LayerLosses, reduction: Literal["sum", "mean"], label: str) -> tf.Tensor:
        """The negative log-likelihood of some examples plus the losses of the network's layers (the negative ELBO, eq. 10)."""
        nll = self.likelihood.nll(y, outputs)
        nll = tf.reduce_sum(nll) if reduction == "sum" else tf.reduce_mean(nll)
        terms = {"negative log-likelihood": nll, **losses.terms()}
        return self.sum_terms({f"{label}: {name}": value for name, value in terms.items()})

    def sum_terms(self, terms: Mapping[str, tf.Tensor]) -> tf.Tensor:
        """The sum of named terms of a loss; called eagerly, as `explain_failure` does, it raises an error that names a non-finite one."""
        if tf.executing_eagerly():
            for name, value in terms.items():
                if not tf.reduce_all(tf.math.is_finite(value)):
                    raise NonFiniteError(name)
        return tf.add_n(list(terms.values()))

    def gradient(self, tape: tf.GradientTape, loss: tf.Tensor, sources: Any) -> Any:
        """The gradient of a loss with respect to tensors, zero where there is none; in float16 without underflow on the way."""
        return precision.gradient(tape, loss, sources, precision.gradient_factor(self.network))

    def descend(self, weights: Tensors, gradients: Tensors, rate: float | Tensors) -> Tensors:
        """One step of gradient descent on the network's weights: against the clipped gradients; see `step`."""
        return self.step(weights, self.clipped(gradients), rate)

    def clipped(self, gradients: Tensors) -> Tensors:
        """The gradients of an inner step, within the global norm `inner_clip_norm`."""
        if self.inner_clip_norm is None:
            return gradients
        # As tf.clip_by_global_norm, by operations that tf.vectorized_map knows; the root has no derivative at 0.
        squares = tf.add_n([tf.reduce_sum(tf.square(g)) for g in gradients])
        scale = self.inner_clip_norm / tf.maximum(tf.sqrt(tf.maximum(squares, _TINY)), self.inner_clip_norm)
        return [scale * g for g in gradients]

    def step(self, weights: Tensors, directions: Tensors, rate: float | Tensors) -> Tensors:
        """The network's weights after a step against `directions`, constrained; `rate` is a number, or one tensor per weight."""
        rates = rate if isinstance(rate, list) else [rate] * len(weights)
        stepped = [w - r * d for w, r, d in zip(weights, rates, directions)]
        return [w if v.constraint is None else v.constraint(w) for v, w in zip(self.network.trainable_variables, stepped)]

    @property
    def steps_at_test(self) -> int:
        """Number of inner steps in evaluation and prediction."""
        return self.inner_steps if self.test_inner_steps is None else self.test_inner_steps

    def adapt(
        self,
        psi: Sequence[tf.Tensor],
        state: Sequence[tf.Tensor],
        support_x: tf.Tensor,
        support_y: tf.Tensor,
        key: tf.Tensor,
        steps: int | tf.Tensor | None = None,
    ) -> tuple[list, Tensors]:
        """Adapts to a support set as evaluation and prediction do, in `steps_at_test` steps by default: the adapted weights and state."""
        raise NotImplementedError(f"{type(self).__name__} must implement adapt(psi, state, support_x, support_y, key, steps=None).")

    def task_update(self, psi: Sequence[tf.Tensor], state: Sequence[tf.Tensor], task: Task) -> tuple[Tensors, tuple[tf.Tensor, tf.Tensor]]:
        """What one task contributes to training: the meta-gradient, and (loss, score)."""
        raise NotImplementedError(f"{type(self).__name__} must implement task_update(psi, state, task).")

    def predict_adapted(
        self, adapted: list, state: Sequence[tf.Tensor], support_x: tf.Tensor, query_x: tf.Tensor, key: tf.Tensor, **how: Any
    ) -> tf.Tensor:
        """B draws of the adapted network's outputs on queries, `[B, query, outputs]`; `how` goes to `call_on_query`."""

        def draw(draw_key: tf.Tensor) -> tf.Tensor:
            return self.call_on_query(adapted, state, support_x, query_x, draw_key, training=False, **how)[0]

        return self.task_runner.map_draws(draw, random.split(key, self.draws, Stream.PREDICTION))

    def task_predict(
        self, psi: Sequence[tf.Tensor], state: Sequence[tf.Tensor], task: Task, steps: int | tf.Tensor | None = None, **how: Any
    ) -> tf.Tensor:
        """Adapts to a task's support set and predicts its queries, `[B, query, outputs]`; `how` goes to `call_on_query`."""
        adapted, state = self.adapt(psi, state, task.support_x, task.support_y, task.key, steps)
        return self.predict_adapted(adapted, state, task.support_x, task.query_x, task.key, **how)

    def task_evaluate(self, psi: Sequence[tf.Tensor], state: Sequence[tf.Tensor], task: Task) -> tuple[tf.Tensor, tf.Tensor]:
        """The mean negative log-likelihood of a query under one draw, and the score of the predictive mean."""
        draws = self.task_predict(psi, state, task)
        nll = [tf.reduce_mean(self.likelihood.nll(task.query_y, outputs)) for outputs in tf.unstack(draws)]
        return tf.reduce_mean(tf.stack(nll)), self.likelihood.score(task.query_y, self.likelihood.predictive(draws))

    # Many tasks.

    def current_values(self) -> tuple[Tensors, Tensors]:
        """psi and state: the values of the trainable and the carried variables, and of the network's non-trainable ones."""
        psi, state = [*self.trainable_variables, *self.carried], self.network.non_trainable_variables
        return [tf.convert_to_tensor(v) for v in psi], [tf.convert_to_tensor(v) for v in state]

    def parted(self, psi: Sequence[tf.Tensor]) -> tuple[Tensors, Tensors]:
        """psi split into the part that an optimizer trains and the carried part."""
        trained = len(psi) - len(self.carried)
        return list(psi[:trained]), list(psi[trained:])

    def meta_gradient(self, tasks: Task) -> tuple[Tensors, tuple[tf.Tensor, tf.Tensor]]:
        """The mean meta-gradient over a batch of tasks, and the mean (loss, score)."""
        update = self.compiled_function("update", lambda: self.batch_runner.mean(self.task_update))
        return update(*self.current_values(), tasks)

    def finite_for_optimizer(self, gradient: tf.Tensor) -> tf.Tensor:
        """Whether a meta-gradient is finite, and also what the optimizer first computes from it.

        That is its square, which Adam would keep for good if infinite; or, where Keras clips it, its product with the largest norm.
        """
        optimizer = getattr(self, "optimizer", None)  # there is none before `compile`
        if not getattr(optimizer, "clipvalue", None):
            gradient = gradient * (getattr(optimizer, "clipnorm", None) or gradient)
        return tf.reduce_all(tf.math.is_finite(gradient))
