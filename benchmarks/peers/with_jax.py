"""JAX: tasks under vmap or lax.map, all compiled; on sinusoids many meta-iterations in one program, which samples the tasks too."""

import contextlib
import functools
import importlib.metadata
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax
from methods import Method
from pattern import pattern

FIELDS = ("support_x", "support_y", "query_x", "query_y")
SCANNED = 100  # meta-iterations on sinusoids in one call


def versions():
    return {name: importlib.metadata.version(name) for name in ("jax", "jaxlib", "optax")}


class Operations:
    """What `methods.py` asks for."""

    channel_axis = -1
    grad = staticmethod(jax.grad)
    stop_gradient = staticmethod(lax.stop_gradient)
    each = staticmethod(jax.vmap)
    exp, log, sqrt = staticmethod(jnp.exp), staticmethod(jnp.log), staticmethod(jnp.sqrt)
    maximum, sort, full_like = staticmethod(jnp.maximum), staticmethod(jnp.sort), staticmethod(jnp.full_like)
    stack, concat = staticmethod(jnp.stack), staticmethod(jnp.concatenate)
    relu, softplus = staticmethod(jax.nn.relu), staticmethod(jax.nn.softplus)
    softmax, log_softmax = staticmethod(jax.nn.softmax), staticmethod(jax.nn.log_softmax)

    def __init__(self, given_noise=False):
        self.given_noise = given_noise

    def split(self, key, n):
        return list(jax.random.split(key, n))

    def normal(self, key, shape):
        return jnp.asarray(pattern(shape)) if self.given_noise else jax.random.normal(key, shape)

    def gumbel(self, key, shape):
        return jnp.asarray(pattern(shape)) if self.given_noise else jax.random.gumbel(key, shape)

    def one_winner(self, values, axis):
        return jax.nn.one_hot(values.argmax(axis), values.shape[axis], axis=axis, dtype=values.dtype)

    def cross_entropy(self, outputs, y):
        # A product rather than an index, whose gradient is a scatter.
        return -(jax.nn.log_softmax(outputs) * jax.nn.one_hot(y, outputs.shape[-1], dtype=outputs.dtype)).sum(-1)

    def channels(self, vector):
        return vector

    def flatten(self, x):
        return x.reshape(x.shape[0], -1)

    def conv(self, x, kernel, stride):
        return lax.conv_general_dilated(x, kernel, (stride, stride), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"))

    def pool(self, x):
        # Not reduce_window, whose gradient is a scatter.
        height, width = x.shape[1] % 2, x.shape[2] % 2
        x = jnp.pad(x, ((0, 0), (0, height), (0, width), (0, 0)), constant_values=-jnp.inf)
        x = x.reshape(x.shape[0], x.shape[1] // 2, 2, x.shape[2] // 2, 2, x.shape[3])
        return jnp.maximum(jnp.maximum(x[:, :, 0, :, 0], x[:, :, 0, :, 1]), jnp.maximum(x[:, :, 1, :, 0], x[:, :, 1, :, 1]))


def weights_in(data):
    return [jnp.asarray(data[name]) for name in sorted(data) if name.startswith("weight")]


def batch(spec, data, i):
    """Images as the network takes them: flat, but for convolutions."""
    fields = [data[name][i] for name in FIELDS]
    if spec["kind"] == "classification" and spec["config"]["network"]["name"] != "conv4":
        fields = [f.reshape(*f.shape[:2], math.prod(spec["input_shape"])) if f.dtype.kind == "f" else f for f in fields]
    return tuple(jnp.asarray(f) for f in fields)


def mean_meta_gradient(method, over_tasks, psi, tasks, keys):
    """Over a batch of tasks, under `vmap` or `lax.map`."""

    def of_one(arguments):
        *task, key = arguments
        return method.meta_gradient(psi, task, key)

    mapped = jax.vmap(of_one)((*tasks, keys)) if over_tasks == "vmap" else lax.map(of_one, (*tasks, keys))
    return [g.mean(0) for g in mapped]


def checked(spec, data, options):
    with in_float64():
        method, tasks = Method(Operations(given_noise=True), spec), batch(spec, data, 0)
        keys = jax.random.split(jax.random.key(0), 2)
        if spec["predict"]:
            task = [t[0] for t in tasks]
            return [np.asarray(d) for d in jax.jit(method.predict)(weights_in(data), *task[:3], keys[0])]
        gradient = jax.jit(functools.partial(mean_meta_gradient, method, options["tasks"]))(weights_in(data), tasks, keys)
        return [np.asarray(g) for g in gradient]


@contextlib.contextmanager
def in_float64():
    jax.config.update("jax_enable_x64", True)
    try:
        yield
    finally:
        jax.config.update("jax_enable_x64", False)


def sinusoids(spec, key, tasks):
    """A batch of the tasks of Finn et al. (2017)."""
    numbers = spec["support"], spec["queries"]
    amplitude, phase, x = jax.random.split(key, 3)
    amplitude = jax.random.uniform(amplitude, (tasks, 1, 1), minval=0.1, maxval=5.0)
    phase = jax.random.uniform(phase, (tasks, 1, 1), maxval=jnp.pi)
    x = jax.random.uniform(x, (tasks, sum(numbers), 1), minval=-5.0, maxval=5.0)
    y = amplitude * jnp.sin(x + phase)
    return x[:, : numbers[0]], y[:, : numbers[0]], x[:, numbers[0] :], y[:, numbers[0] :]


class Contestant:
    """The compiled training, or prediction; options are `prng`, JAX's random numbers, and `tasks`, `"vmap"` or `"lax.map"`."""

    def __init__(self, spec, data, options):
        jax.config.update("jax_default_prng_impl", options["prng"])
        method = Method(Operations(), spec)
        self.tasks, self.predict = spec["tasks"], spec["predict"]
        self.scanned = spec["kind"] == "regression" and not self.predict
        self.multiple = SCANNED if self.scanned else 1
        batches = [batch(spec, data, i) for i in range(len(data["support_x"]))]
        psi, key = weights_in(data), jax.random.key(0)
        if self.predict:
            self.weights, self.key = psi, key
            self.program = jax.jit(method.predict)
            self.batches = itertools.cycle([[t[0] for t in tasks] for tasks in batches])
            return
        self.batches = itertools.cycle(batches)
        rate = spec["config"]["optimizer"]["learning_rate"]
        optimizer = getattr(optax, spec["config"]["optimizer"]["name"])(rate)

        def iteration(carry, tasks):
            psi, state, key = carry
            key, tasks_key, noise_key = jax.random.split(key, 3)
            tasks = sinusoids(spec, tasks_key, self.tasks) if tasks is None else tasks
            gradient = mean_meta_gradient(method, options["tasks"], psi, tasks, jax.random.split(noise_key, self.tasks))
            updates, state = optimizer.update(gradient, state)
            return (optax.apply_updates(psi, updates), state, key), None

        def many(carry, tasks):
            return lax.scan(iteration, carry, tasks, length=SCANNED) if self.scanned else iteration(carry, tasks)

        self.program = jax.jit(many, donate_argnums=0)
        self.carry = (psi, optimizer.init(psi), key)

    def run(self, iterations):
        if self.predict:
            for _ in range(iterations):
                [np.asarray(d) for d in self.program(self.weights, *next(self.batches)[:3], self.key)]
            return
        for _ in range(iterations // self.multiple):
            self.carry, _ = self.program(self.carry, None if self.scanned else next(self.batches))
        jax.block_until_ready(self.carry)
