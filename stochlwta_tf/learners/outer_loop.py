"""The outer loop of meta-training, as Keras runs it: compilation, meta-iterations, validation and their metrics."""

import functools
import inspect
from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from stochlwta_tf.learners.compiled_loop import compiled_loop
from stochlwta_tf.learners.micro_batches import MicroBatches
from stochlwta_tf.learners.monitoring import set_direction
from stochlwta_tf.learners.replicas import Replicas
from stochlwta_tf.learners.task_runner import TaskRunner
from stochlwta_tf.learners.toolkit import MethodToolkit
from stochlwta_tf.tasks.task import Task


class OuterLoop(MethodToolkit):
    """Base of `MetaLearner`: descends the mean meta-gradient of a batch of tasks by a Keras optimizer.

    Example:

    >>> learner.compile(keras.optimizers.Adam(0.001), steps_per_execution=100, jit_compile=True)
    >>> learner.fit(tasks.dataset(), steps_per_epoch=1000)
    """

    #: The examples on which `task_update` computes its score.
    train_score = "support"
    _one_program = False
    _loss_metric: keras.metrics.Metric
    _score_metric: keras.metrics.Metric
    _train_score_metric: keras.metrics.Metric
    _diverged_metric: keras.metrics.Metric

    def compile(
        self,
        optimizer: str | keras.optimizers.Optimizer = "sgd",
        steps_per_execution: int = 1,
        jit_compile: bool = False,
        micro_batch: int | None = None,
        replicas: tuple[tf.distribute.Strategy, int] | None = None,
        **kwargs: Any,
    ) -> None:
        """Sets the optimizer of the outer step.

        Args:
            optimizer: A Keras optimizer or its name.
            steps_per_execution: Meta-iterations in one call of the compiled function.
            jit_compile: Whether these are one XLA program, outer steps too, which is faster where an iteration takes a few milliseconds;
                see `compiled_loop`. It plays no part where tasks do not run vectorised under XLA, or are divided. The functions of tasks
                are compiled in any case.
            micro_batch: Tasks of a batch at once in training, which bounds the memory; all by default. See `MicroBatches`.
            replicas: A `tf.distribute` strategy, and how many of its replicas are this process's, which batches are divided over in
                training and validation; none by default. See `Replicas`.
            **kwargs: As `keras.Model.compile`, except that a loss or metrics are the learner's own.

        Raises:
            ValueError: If `loss` or `metrics` is given: a learner computes its own.
        """
        for argument in ("loss", "metrics", "weighted_metrics", "loss_weights"):
            if kwargs.pop(argument, None):
                raise ValueError(f"A learner computes its own loss and metrics. Received: {argument}")
        # The network scales its own gradients (`precision`): an optimizer that divides by a scale would shrink the meta-gradient.
        kwargs.pop("auto_scale_loss", None)
        if isinstance(optimizer, keras.optimizers.LossScaleOptimizer):
            raise ValueError("A learner scales its own losses: give it the optimizer itself. Received: LossScaleOptimizer")
        if getattr(optimizer, "loss_scale_factor", None):
            raise ValueError(f"A learner scales its own losses. Received: loss_scale_factor={optimizer.loss_scale_factor}")
        # Keras's own way of compiling a step would fail under a distribution strategy.
        super().compile(optimizer, steps_per_execution=steps_per_execution, jit_compile=False, auto_scale_loss=False, **kwargs)
        runner = MicroBatches(self.task_runner, micro_batch) if micro_batch else self.task_runner
        self.batch_runner = Replicas(runner, *replicas) if replicas else runner
        self._one_program = bool(jit_compile)
        self.forget_compiled("update", "evaluate")
        self.optimizer.build(self.trainable_variables)  # or loading weights would skip the optimizer's with no more than a warning

    def compile_from_config(self, config: dict[str, Any]) -> None:
        # Keras leaves a model with its own `compile` uncompiled on loading, and its optimizer's state unread.
        self.compile(**keras.saving.deserialize_keras_object(config))

    @functools.wraps(keras.Model.fit)
    def fit(self, *args: Any, **kwargs: Any) -> keras.callbacks.History:
        given = inspect.signature(super().fit).bind(*args, **kwargs).arguments
        if "shuffle" not in given:
            kwargs["shuffle"] = False  # a data set decides its own order; of Keras's True for one there is a warning
        callbacks = given.get("callbacks")
        set_direction(callbacks, self.likelihood.score_name, self.likelihood.higher_is_better)
        return super().fit(*args, **kwargs)

    def make_train_function(self, force: bool = False) -> None:
        runner, kind = self.batch_runner, type(self)
        whole = isinstance(runner, TaskRunner) and runner.vectorized and runner.xla
        # What a subclass changes in a step would play no part in the program.
        changed = (kind.train_step, kind.meta_gradient) != (OuterLoop.train_step, OuterLoop.meta_gradient)
        if not (self._one_program and whole) or changed or self.run_eagerly:
            super().make_train_function(force)
        elif self.train_function is None or force:
            self.train_function = compiled_loop(self, self.steps_per_execution)

    def train_step(self, data: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        gradient, (loss, score) = self.meta_gradient(Task(**data))
        with tf.control_dependencies([self.assert_finite(self.is_finite_update(gradient, loss))]):
            return self.outer_step(gradient, loss, score)

    def is_finite_update(self, gradient: Sequence[tf.Tensor], loss: tf.Tensor) -> tf.Tensor:
        """Whether a batch of tasks may update the weights."""
        return tf.reduce_all([tf.math.is_finite(loss), *map(self.finite_for_optimizer, gradient)])

    @staticmethod
    def assert_finite(finite: tf.Tensor) -> tf.Operation:
        """An operation that stops a training whose last update was not finite."""
        return tf.debugging.Assert(finite, ["The loss or the meta-gradient is not finite."])

    def outer_step(self, gradient: Sequence[tf.Tensor], loss: tf.Tensor, score: tf.Tensor) -> dict[str, tf.Tensor]:
        """Applies a meta-gradient, and returns the logs of training."""
        replicas = tf.distribute.get_strategy().num_replicas_in_sync  # Keras optimizers sum over replicas
        trained, carried = self.parted(gradient)
        self.optimizer.apply([g / replicas for g in trained], self.trainable_variables)
        for variable, difference in zip(self.carried, carried, strict=True):
            variable.assign_sub(difference)
        self._loss_metric.update_state(loss)
        self._train_score_metric.update_state(score)
        norm = tf.sqrt(tf.add_n([tf.reduce_sum(tf.square(tf.cast(g, "float32"))) for g in trained]))
        return {**{m.name: m.result() for m in (self._loss_metric, self._train_score_metric)}, "gradient_norm": norm}

    def empty_logs(self) -> dict[str, tf.Tensor]:
        """Logs of `outer_step` before the first."""
        metrics = {m.name: tf.zeros([], m.dtype) for m in (self._loss_metric, self._train_score_metric)}
        return {**metrics, "gradient_norm": tf.zeros([])}

    def test_step(self, data: dict[str, tf.Tensor]) -> dict[str, tf.Tensor]:
        """Loss and score over the tasks whose predictions are finite, and the fraction of tasks that diverged.

        A task of NaN would otherwise count as a prediction of class 0.  If every task diverged, loss and score are NaN.
        """
        evaluate = self.compiled_function("evaluate", lambda: self.batch_runner.map(self.task_evaluate))
        loss, score = evaluate(*self.current_values(), Task(**data))
        finite = tf.math.is_finite(loss) & tf.math.is_finite(score)
        for metric, values in ((self._loss_metric, loss), (self._score_metric, score)):
            metric.update_state(tf.where(finite, values, tf.zeros_like(values)), sample_weight=tf.cast(finite, values.dtype))
        self._diverged_metric.update_state(tf.cast(~finite, loss.dtype))
        none = tf.equal(self._diverged_metric.result(), 1.0)
        logs = {m.name: tf.where(none, float("nan"), m.result()) for m in (self._loss_metric, self._score_metric)}
        return {**logs, self._diverged_metric.name: self._diverged_metric.result()}

    @property
    def metrics(self) -> list[keras.metrics.Metric]:
        return [self._loss_metric, self._score_metric, self._train_score_metric, self._diverged_metric]
