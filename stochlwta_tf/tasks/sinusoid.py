"""Sinusoid regression (Finn et al. 2017), and the harder variant of Yoon et al. 2018."""

import math
from typing import Annotated, Any, Literal

import numpy as np
import tensorflow as tf
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.tasks.task import Task, TaskDistribution, at_least

_LABELLED = 5  # points that an active learner begins with, as the paper has it
_SETTINGS = {  # upper bound of the phase b, bounds of the frequency omega, noise in units of the amplitude
    "default": (math.pi, (1.0, 1.0), 0.0),
    "challenging": (2 * math.pi, (0.5, 2.0), 0.01),
}


class Sinusoid(TaskDistribution):
    """Curves y = A sin(omega x + b) on x ∈ [−5, 5], seen at a few points; A ~ U[0.1, 5].

    `default`: b ~ U[0, pi], omega = 1, no noise (Finn, Abbeel & Levine 2017).  `challenging`: b ~ U[0, 2 pi], omega ~ U[0.5, 2], and
    noise N(0, (0.01 A)²) on the support's y (Yoon et al. 2018).  Query targets are free of noise.  Support x are uniform; query x are
    uniform in the train split, and evenly spaced from −5 to 5 in the others.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        setting: `"default"` or `"challenging"`.
        shot: Support points (K).
        queries: Evenly spaced query points of a validation or test task.
        train_queries: Random query points of a training task; 0 for learners that use the support set alone.
        train_shot: Support points of a training task; `None` for K.  Reptile's authors train on 50 and test on 10.

    Raises:
        ConfigurationError: If an option is out of its range.

    Example:

    >>> tasks = Sinusoid("test", batch=25, seed=0, setting="challenging")
    >>> tasks.sample(0).query_x.shape
    TensorShape([25, 100, 1])
    """

    kind, likelihood = "regression", "gaussian"
    input_shape = (1,)
    outputs = 1
    renamed_options = {"points": "shot", "train_points": "train_shot"}

    def __init__(
        self,
        split: str,
        batch: int,
        seed: int,
        *,
        setting: Literal["default", "challenging"] = "default",
        shot: Annotated[int, Field(ge=1)] = 10,
        queries: Annotated[int, Field(ge=2)] = 100,
        train_queries: Annotated[int, Field(ge=0)] = 10,
        train_shot: Annotated[int, Field(ge=1)] | None = None,
    ) -> None:
        super().__init__(split, batch, seed)
        if setting not in _SETTINGS:
            raise ConfigurationError(f"setting must be one of {', '.join(_SETTINGS)}. Received: setting={setting}.")
        if split == "train" and train_shot is not None:
            shot = train_shot
        at_least(1, shot=shot)
        at_least(2, queries=queries)
        at_least(0, train_queries=train_queries)
        self.setting, self.shot, self.queries, self.train_queries = setting, shot, queries, train_queries

    def pool(self, start: int | None, size: int) -> tuple[dict[str, Any], np.ndarray]:
        start = _LABELLED if start is None else start
        return {"shot": start + size}, np.arange(start + size) < start

    def query_groups(self, batch: Task) -> tuple[np.ndarray, int, str]:
        x = batch.query_x.numpy()[..., 0]
        return np.clip((x + 5.0).astype(int), 0, 9), 10, "part of the input's range"

    def sample_tasks(self, keys: tf.Tensor) -> Task:
        phase_bound, (low, high), noise = _SETTINGS[self.setting]
        # In a graph one XLA program: launching the dozen small ones that noise consists of takes longer than they do.
        draw = self._noise if tf.executing_eagerly() else tf.function(self._noise, jit_compile=True, autograph=False)
        u, support_u, query_u, key = draw(keys)
        amplitude, phase, frequency = 0.1 + 4.9 * u[:, 0], phase_bound * u[:, 1], low + (high - low) * u[:, 2]
        support_x = 10.0 * support_u - 5.0
        if self.split == "train":
            query_x = 10.0 * query_u - 5.0
        else:
            query_x = tf.tile(tf.linspace(-5.0, 5.0, self.queries)[None, :, None], [keys.shape[0], 1, 1])
        support_y, query_y = (amplitude * tf.sin(frequency * x + phase) for x in (support_x, query_x))
        if noise:
            support_y += noise * amplitude * random.normal(random.fold_in(keys, 0, tag=4), (self.shot, 1))
        return Task(support_x, support_y, query_x, query_y, key)

    def _noise(self, keys: tf.Tensor) -> tuple[tf.Tensor, ...]:
        """Uniform noise of the curves, of the support's x and of a training task's queries' x; and the tasks' own keys."""
        shapes = (3, 1, 1), (self.shot, 1), (self.train_queries, 1)
        noise = (random.uniform(random.fold_in(keys, 0, tag=tag), shape) for tag, shape in enumerate(shapes, 1))
        return *noise, random.fold_in(keys, 0)
