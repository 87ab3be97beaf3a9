"""This package: the compiled function that `learner.fit` calls, with all that it checks and reports, and `learner.predict_tasks`."""

import contextlib
import importlib.metadata
import itertools
import pathlib
import types

import keras
import numpy as np
import tensorflow as tf
from pattern import pattern
from workloads import sizes

from stochlwta_tf import random
from stochlwta_tf.config import configuration
from stochlwta_tf.tasks import Task
from stochlwta_tf.training import build

FIELDS = ("support_x", "support_y", "query_x", "query_y")
CONFIGS = pathlib.Path(__file__).resolve().parents[2] / "configs"
POOL = 2  # batches of images that training goes round in


def versions():
    return {name: importlib.metadata.version(name) for name in ("tensorflow", "keras")}


def prepare(config, assignments, predict):
    """What every contestant needs to know of a workload: its resolved configuration and shapes; weights and tasks."""
    config = configuration.load(CONFIGS / f"{config}.yaml", assignments)
    build.runtime(config)
    tasks, support, queries = sizes(config.resolved(), predict)
    images = config.task.name != "sinusoid"
    shape = {"omniglot": (28, 28, 1), "miniimagenet": (84, 84, 3), "sinusoid": (1,)}[config.task.name]
    spec = {
        "config": config.resolved(),
        "kind": "classification" if images else "regression",
        "input_shape": shape,
        "outputs": config.task.options().get("way", 1),
        "predict": predict,
        "tasks": tasks,
        "support": support,
        "queries": queries,
    }
    rng = np.random.default_rng(0)
    data = make_tasks(rng, spec, max(tasks, 2))
    learner = make_learner(spec)
    spec["weights"] = [v.path for v in variables(learner)]
    for i, v in enumerate(variables(learner)):
        # Vectors, which begin all alike, are spread: an error in the gradient of one of them might not show.
        data[f"weight{i:02}"] = v.numpy() + (0.1 * rng.normal(size=v.shape) if len(v.shape) == 1 else 0.0)
    return spec, data


def make_tasks(rng, spec, tasks):
    """A pool of batches of tasks: pictures of noise, or sinusoids."""
    shape = (POOL, tasks, spec["support"] + spec["queries"])
    if spec["kind"] == "classification":
        x = rng.random((*shape, *spec["input_shape"]), "float32")
        y = np.broadcast_to(np.arange(shape[-1]) % spec["outputs"], shape).astype("int32")
    else:
        x = rng.uniform(-5, 5, (*shape, 1))
        amplitude, phase = rng.uniform(0.1, 5, (*shape[:2], 1, 1)), rng.uniform(0, np.pi, (*shape[:2], 1, 1))
        y = amplitude * np.sin(x + phase)
    k = spec["support"]
    return dict(zip(FIELDS, (x[:, :, :k], y[:, :, :k], x[:, :, k:], y[:, :, k:])))


def make_learner(spec):
    config = configuration.from_dict(spec["config"])
    likelihood = "categorical" if spec["kind"] == "classification" else "gaussian"
    return build.learner(
        config,
        types.SimpleNamespace(kind=spec["kind"], likelihood=likelihood, input_shape=tuple(spec["input_shape"]), outputs=spec["outputs"]),
    )


def variables(learner):
    """The network's weights, then what else is learned."""
    own = {id(v) for v in learner.network.trainable_variables}
    return [*learner.network.trainable_variables, *(v for v in learner.trainable_variables if id(v) not in own)]


def with_weights(learner, data):
    for i, v in enumerate(variables(learner)):
        v.assign(data[f"weight{i:02}"])
    return learner


def batch(data, i):
    """Batch number i of the pool, as the fields of a `Task`."""
    fields = {name: data[name][i] for name in FIELDS}
    count = fields["support_x"].shape[0]
    keys = np.arange(2 * i * count, 2 * (i + 1) * count, dtype="uint32").reshape(count, 2)
    return {**{name: tf.constant(value) for name, value in fields.items()}, "key": tf.constant(keys)}


def checked(spec, data, options):
    """The meta-gradient of the first tasks, or the predictions of the first, in float64 and with the pattern in place of noise."""
    with in_float64(), given_noise():
        learner = with_weights(make_learner(spec), data)
        tasks = Task(**batch(data, 0))
        if spec["predict"]:
            return list(learner.predict_tasks(Task(*(t[:1] for t in tasks))).numpy()[0])
        gradient = dict(zip([id(v) for v in learner.trainable_variables], learner.meta_gradient(tasks)[0]))
        return [gradient[id(v)].numpy() for v in variables(learner)]


@contextlib.contextmanager
def in_float64():
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    try:
        yield
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")


@contextlib.contextmanager
def given_noise():
    normal, gumbel = random.normal, random.gumbel
    random.normal = random.gumbel = lambda key, shape: tf.constant(pattern(shape))
    try:
        yield
    finally:
        random.normal, random.gumbel = normal, gumbel


class Contestant:
    """Training on the package's own sinusoids, or on images in memory; or the prediction of a task.

    Args:
        spec, data, options: As all contestants take them.
    """

    def __init__(self, spec, data, options):
        self.learner = with_weights(make_learner(spec), data)
        self.tasks, self.predict = spec["tasks"], spec["predict"]
        config = configuration.from_dict(spec["config"])
        self.multiple = 1 if self.predict else config.training.steps_per_execution
        if self.predict:
            self.pool = itertools.cycle([Task(*(t[:1] for t in Task(**batch(data, i)))) for i in range(POOL)])
            return
        if spec["kind"] == "regression":
            dataset = build.tasks(config, "train").dataset()
        else:
            options = tf.data.Options()
            options.autotune.enabled = False  # as in the package's own datasets
            batches = [tf.data.Dataset.from_tensors(batch(data, i)) for i in range(POOL)]
            dataset = batches[0].concatenate(batches[1]).repeat().with_options(options)
        self.iterator = iter(dataset)  # `fit` itself would begin with the first tasks again in every repetition
        self.learner.make_train_function()

    def run(self, iterations):
        if self.predict:
            for _ in range(iterations):
                self.learner.predict_tasks(next(self.pool)).numpy()
            return
        for _ in range(iterations // self.multiple):
            logs = self.learner.train_function(self.iterator)
            float(next(iter(logs.values())))  # waits for the device
