"""The base of all learners: a Keras model that wraps a network, adapts it to tasks and meta-trains it."""

import functools
import json
import os
from collections.abc import Sequence
from typing import Annotated, Any, Literal

import keras
import tensorflow as tf
from numpy.typing import ArrayLike
from pydantic import Field
from typing_extensions import Self

from stochlwta_tf import objectives
from stochlwta_tf.layers import with_observation_noise
from stochlwta_tf.layers.batch_normalization import check_normalization
from stochlwta_tf.layers.model_shapes import shapes_of
from stochlwta_tf.learners.adapted_model import AdaptedModel
from stochlwta_tf.learners.compiled_model import TRAINING_ONLY
from stochlwta_tf.learners.final_activation import warn_of_probabilities
from stochlwta_tf.learners.outer_loop import OuterLoop
from stochlwta_tf.learners.precision import check_precision
from stochlwta_tf.learners.task_runner import TaskRunner, own_function
from stochlwta_tf.tasks.task import Task

_DRAWS = 4  # the paper's B


class MetaLearner(OuterLoop):
    """A network together with a way to adapt it to a task and to learn from many.

    A method is a subclass with two or three pure functions of one task, all on plain tensors (`psi` are the values of
    `learner.trainable_variables`, `state` those of the network's non-trainable ones):

    - `adapt(psi, state, support_x, support_y, key, steps=None)` → adapted weights, state: as in evaluation, in `steps_at_test` steps
    - `task_update(psi, state, task)` → meta-gradient, (loss, score)
    - `predict_adapted(adapted, state, support_x, query_x, key)` → draws `[B, query, outputs]`; the base samples the network B times.

    What they are built from is in `MethodToolkit`.  This class runs them over batches of tasks, hands the mean meta-gradient to the Keras
    optimizer, and is what users meet: `fit`, `evaluate`, `adapt_to(...).predict(...)`, `predict_tasks`, `with_options`, saving and loading.

    Args:
        network: A built `keras.Model` from one tensor `[batch, ...]` to `[batch, outputs]`, without a final softmax, in one of the dtype
            policies float32, float64, mixed_float16 and mixed_bfloat16.
        likelihood: `"categorical"` for class labels, `"gaussian"` for real targets.
        noise_std: Observation std of the Gaussian likelihood, in the targets' units.
        learn_noise_std: Whether it is learned from that initial value, as a weight of the network; see `ObservationNoise`.
        probability_clip: Bound at which the published code clips probabilities in its cross-entropy; none by default.
        average: What prediction averages over draws: `"logits"` (eq. 11) or `"probabilities"`.
        inner_lr: Learning rate of the inner steps.
        inner_clip_norm: Largest global norm of an inner step's gradient; longer ones are scaled down to it. None by default.
        inner_steps: Number of inner steps in training.
        test_inner_steps: Number in evaluation and prediction; as in training by default.
        inner_loss: Whether the inner loss is the `"sum"` over the examples or their `"mean"`; the learning rate must match.
        draws: B, draws of the network that a prediction averages; by default 4 for a network that samples in prediction, as in the paper,
            and 1 for any other.
        batch_statistics: Whose statistics batch normalisation applies to queries in training and tests: their own (`"transductive"`), or
            the support set's (`"support"`); `adapt_to` has its own.
        runner: `"vectorized"`, `"loop"` or `"auto"`; see `TaskRunner`.
        parallel_tasks: Tasks, or shards of tasks, under way at once; by default one for each core. See `TaskRunner`.

    Options are fixed at construction; `with_options` makes another learner with the same weights.

    Raises:
        ValueError: If the network has no weights to adapt, several inputs or outputs, weights of half precision, or a trainable batch
            normalisation of Keras, which keeps moving averages over tasks (a frozen one, as in a pretrained backbone, has constants).

    Example:

    >>> learner = StochLWTA(networks.dense_lwta((1,), 1), likelihood="gaussian")
    >>> learner.compile("sgd")
    >>> learner.fit(Sinusoid("train", batch=25, seed=0).dataset(), steps_per_epoch=1000)
    >>> learner.adapt_to(support_x, support_y).predict(query_x).mean
    """

    renamed_options = {"saturation": "probability_clip"}

    def __init__(
        self,
        network: keras.Model,
        *,
        likelihood: Literal["categorical", "gaussian"] = "categorical",
        noise_std: Annotated[float, Field(gt=0)] = 1.0,
        learn_noise_std: Annotated[bool, TRAINING_ONLY] = False,
        probability_clip: Annotated[float, Field(gt=0, lt=0.5)] | None = None,
        average: Literal["logits", "probabilities"] = "logits",
        inner_lr: Annotated[float, Field(gt=0)] = 0.01,
        inner_clip_norm: Annotated[float, Field(gt=0)] | None = None,
        inner_steps: Annotated[int, Field(ge=0)] = 5,
        test_inner_steps: Annotated[int, Field(ge=0)] | None = None,
        inner_loss: Literal["sum", "mean"] = "mean",
        draws: Annotated[int, Field(ge=1)] | None = None,
        batch_statistics: Literal["transductive", "support"] = "transductive",
        runner: Literal["auto", "vectorized", "loop"] = "auto",
        parallel_tasks: Annotated[int, Field(ge=1)] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if not network.trainable_variables:
            raise ValueError(f"The network has no trainable weights; build it before it is wrapped. Received: network={network}")
        check_precision(network)
        check_normalization(network)
        if likelihood == "categorical":
            warn_of_probabilities(network)
        if learn_noise_std and likelihood != "gaussian":
            raise ValueError(f"`learn_noise_std` needs regression tasks. Received: learn_noise_std=True, likelihood={likelihood!r}")
        if learn_noise_std:
            network = with_observation_noise(network, noise_std)
        self.example_shape, outputs = shapes_of(network)
        self.targets = outputs // (2 if learn_noise_std else 1)
        self.network = network
        self.inner_lr = inner_lr
        self.inner_clip_norm = inner_clip_norm
        self.inner_steps = inner_steps
        self.test_inner_steps = test_inner_steps
        self.inner_loss = inner_loss
        self.draws = draws or (_DRAWS if samples_in_prediction(network) else 1)
        self.batch_statistics = batch_statistics
        self.runner = runner
        self.parallel_tasks = parallel_tasks
        self.noise_std = noise_std
        self.learn_noise_std = learn_noise_std
        self.probability_clip = probability_clip
        self.average = average
        gaussian = objectives.LearnedGaussian(self.targets) if learn_noise_std else objectives.Gaussian(noise_std)
        self.likelihood = gaussian if likelihood == "gaussian" else objectives.Categorical(average, probability_clip)
        self._loss_metric = keras.metrics.Mean("loss")
        self._score_metric = keras.metrics.Mean(self.likelihood.score_name)
        self._train_score_metric = keras.metrics.Mean(f"{self.train_score}_{self.likelihood.score_name}")
        self._diverged_metric = keras.metrics.Mean("diverged")
        self.task_runner = self.batch_runner = TaskRunner.for_network(network, runner, parallel_tasks)
        self.carried = []
        self._trained_on = ""  # JSON: a dictionary would be tracked as state
        self.built = True  # `build()` would lock the attributes before a subclass adds its own weights

    @property
    def trained_on(self) -> dict[str, Any]:
        """What the learner was trained on, as its training recorded it, saved with the model: `task`, its options; `classes`, their names.

        Empty for a learner that was not trained from a configuration.
        """
        return json.loads(self._trained_on or "{}")

    @trained_on.setter
    def trained_on(self, record: dict[str, Any]) -> None:
        self._trained_on = json.dumps(record)

    @property
    def draws_differ(self) -> bool:
        """Whether the draws of a prediction differ: then their spread is an uncertainty."""
        return samples_in_prediction(self.network)

    def predict_tasks(self, tasks: Task, steps: int | None = None) -> tf.Tensor:
        """Adapts to each task of a batch and draws its queries' outputs: `[tasks, B, query, outputs]`.

        Args:
            tasks: A batch of tasks.
            steps: Inner steps, `steps_at_test` by default.  All other numbers share one compiled function.
        """
        if steps in (None, self.steps_at_test):
            predict = self.compiled_function("predict", lambda: self.task_runner.map(self.task_predict))
            return predict(*self.current_values(), tasks)

        def after(psi: Sequence[tf.Tensor], state: Sequence[tf.Tensor], tasks: Task, steps: tf.Tensor) -> tf.Tensor:
            return self.task_runner.map(functools.partial(self.task_predict, steps=steps))(psi, state, tasks)

        predict = self.compiled_function("predict after any number of steps", lambda: own_function(after))
        return predict(*self.current_values(), tasks, tf.constant(steps))

    def adapt_tasks(self, tasks: Task) -> Any:
        """Adapts to each task of a batch: what `predict_adapted_tasks` takes, the adapted weights of each task."""
        adapt = self.compiled_function("adapt", lambda: self.task_runner.map(self._adapt_task))
        return adapt(*self.current_values(), tasks)

    def predict_adapted_tasks(self, adapted: Any, tasks: Task) -> tf.Tensor:
        """Draws the outputs for the queries of tasks that have been adapted to, as `predict_tasks`: `[tasks, B, query, outputs]`.

        For several predictions from one adaptation: of other queries, or by a twin with other `batch_statistics`.

        Args:
            adapted: What `adapt_tasks` of this learner, or of a twin, returned for tasks with the same support sets and keys.
            tasks: The tasks, whose queries are predicted.

        Example:

        >>> adapted = learner.adapt_tasks(tasks)
        >>> draws = learner.predict_adapted_tasks(adapted, tasks)
        """
        predict = self.compiled_function("predict adapted", lambda: self.task_runner.map(self._predict_adapted_task))
        return predict(*self.current_values(), (adapted, tasks))

    def _adapt_task(self, psi: Sequence[tf.Tensor], state: Sequence[tf.Tensor], task: Task) -> Any:
        adapted = self.adapt(psi, state, task.support_x, task.support_y, task.key)
        return tf.nest.map_structure(tf.identity, adapted)  # under XLA tf.vectorized_map cannot return an argument of its caller

    def _predict_adapted_task(self, psi: Sequence[tf.Tensor], state: Sequence[tf.Tensor], adapted_and_task: Any) -> tf.Tensor:
        (adapted, state), task = adapted_and_task
        return self.predict_adapted(adapted, state, task.support_x, task.query_x, task.key)

    def predictive(self, draws: tf.Tensor) -> tf.Tensor:
        """Averages `[tasks, B, query, outputs]` over draws: class probabilities, or regression means."""
        return self.likelihood.predictive(tf.experimental.numpy.moveaxis(draws, 1, 0))

    def adapt_to(
        self, support_x: ArrayLike, support_y: ArrayLike, seed: int = 0, batch_statistics: Literal["support", "transductive"] = "support"
    ) -> AdaptedModel:
        """Adapts to one support set, given as arrays.

        Args:
            support_x: Inputs, `[support, ...]`.
            support_y: Integer labels `[support]` from 0, or float targets `[support, outputs]`.
            seed: Integer seed of the adaptation's noise.
            batch_statistics: Whose statistics batch normalisation applies to queries: by default the support set's, so that the
                prediction of a query does not depend on the others; `"transductive"` for those of the queries themselves, as
                in many published tests.  The learner's option of that name only affects training, validation and tests.

        Returns:
            An `AdaptedModel`, whose `predict(query_x)` gives the predictive mean and the draws.

        Raises:
            ValueError: If the arrays do not fit the network or each other, or hold NaN or infinity.

        Example:

        >>> prediction = learner.adapt_to(support_x, support_y).predict(query_x)
        >>> prediction.mean, prediction.draws
        """
        return AdaptedModel(self, support_x, support_y, seed, batch_statistics)

    # Keras.

    def export(self, filepath: str | os.PathLike, *args: Any, input_signature: Any = None, **kwargs: Any) -> Any:
        """As `keras.Model.export`, of the network before any adaptation; the signature is known from the network."""
        if input_signature is None:
            input_signature = [keras.InputSpec(shape=(None, *self.example_shape), dtype=self.network.input_dtype)]
        return super().export(filepath, *args, input_signature=input_signature, **kwargs)

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        """The network before any adaptation."""
        return self.network(x, training=training)

    def get_config(self) -> dict[str, Any]:
        config = {"network": keras.saving.serialize_keras_object(self.network), "likelihood": self.likelihood.kind}
        return {**super().get_config(), **config, **({"trained_on": self._trained_on} if self._trained_on else {})}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        options = {cls.renamed_options.get(name, name): value for name, value in config.items() if name not in ("network", "trained_on")}
        learner = cls(keras.saving.deserialize_keras_object(config["network"]), **options)
        learner._trained_on = config.get("trained_on", "")
        return learner


def samples_in_prediction(network: keras.Model) -> bool:
    """Whether a network's predictions differ from draw to draw: whether any of its layers, at any depth, says so."""
    return any(getattr(layer, "samples_in_prediction", False) for layer in network._flatten_layers())
