"""A learner adapted to one task, for users with arrays in hand."""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from stochlwta_tf import random


class Prediction(NamedTuple):
    """What an adapted model says of queries.

    Attributes:
        mean: Class probabilities, or regression means, averaged over draws, `[query, outputs]`.
        draws: The network's outputs (logits, or means) in each of the B draws, `[B, query, outputs]`.
        noise_std: Observation std of each draw's mean: a number, or, where it is learned, `[B, query, outputs]`. None of classes.
    """

    mean: np.ndarray
    draws: np.ndarray
    noise_std: float | np.ndarray | None = None


class AdaptedModel:
    """Made by `learner.adapt_to`: holds the adapted weights; the learner itself is unchanged.

    Args:
        learner: A `MetaLearner`.
        support_x: Inputs, `[support, ...]`.
        support_y: Labels `[support]`, or targets `[support, outputs]`.
        seed: Integer seed of the adaptation's noise.

    Raises:
        ValueError: If the arrays do not fit the network or each other.

    Example:

    >>> model = AdaptedModel(learner, support_x, support_y)
    >>> model.predict(query_x).mean.shape
    (15, 5)
    """

    def __init__(self, learner, support_x, support_y, seed=0):
        self.learner = learner
        self.support_x = self._inputs("support_x", support_x)
        support_y = self._targets(np.asarray(support_y))
        self._key = random.key_from_seed(seed)
        psi, state = learner.current_values()
        adapt = learner.compiled_function(
            "adapt_to", lambda: tf.function(learner.adapt, jit_compile=learner.task_runner.xla, autograph=False)
        )
        self.adapted, self.state = adapt(psi, state, self.support_x, support_y, self._key)

    def predict(self, query_x):
        """Predicts queries `[query, ...]`: a `Prediction`."""
        learner = self.learner
        predict = learner.compiled_function(
            "predict_adapted", lambda: tf.function(learner.predict_adapted, jit_compile=learner.task_runner.xla, autograph=False)
        )
        draws = predict(self.adapted, self.state, self.support_x, self._inputs("query_x", query_x), self._key)
        outputs, noise_std = learner.likelihood.split(draws)
        noise_std = noise_std.numpy() if tf.is_tensor(noise_std) else noise_std
        return Prediction(learner.likelihood.predictive(draws).numpy(), outputs.numpy(), noise_std)

    def _inputs(self, argument, x):
        shape = self.learner.network.input_shape[1:]
        if np.asarray(x).dtype == np.uint8:
            raise ValueError(
                f"`{argument}` must be scaled as in training: this package's tasks have pixels from 0 to 1. Received: dtype=uint8"
            )
        x = tf.cast(tf.convert_to_tensor(np.asarray(x)), self.learner.network.trainable_variables[0].dtype)
        if len(x.shape) != len(shape) + 1 or tuple(x.shape[1:]) != tuple(shape) or not x.shape[0]:
            raise ValueError(
                f"`{argument}` must have the shape [examples, {', '.join(map(str, shape))}], with at least one example. "
                f"Received: shape={tuple(x.shape)}"
            )
        return x

    def _targets(self, y):
        outputs = self.learner.targets
        examples = self.support_x.shape[0]
        if self.learner.likelihood.score_name == "accuracy":
            if y.shape != (examples,) or y.dtype.kind not in "iu" or y.min() < 0 or y.max() >= outputs:
                values = f", values from {y.min()} to {y.max()}" if y.size and y.dtype.kind in "iuf" else ""
                raise ValueError(
                    f"`support_y` must hold {examples} integer labels from 0 to {outputs - 1}, one for each support input. "
                    f"Received: shape={y.shape}, dtype={y.dtype}{values}"
                )
            return tf.convert_to_tensor(y, tf.int32)
        if y.shape != (examples, outputs):
            raise ValueError(f"`support_y` must have the shape [{examples}, {outputs}]. Received: shape={y.shape}")
        return tf.convert_to_tensor(y, self.support_x.dtype)
