"""The contestants of `against_torch.py`: second-order MAML here, with learn2learn and with torch.func, on the same tasks and weights.

As a script, which `against_torch.py` starts with the interpreter of each, it is one contestant's process.
"""

import dataclasses
import itertools
import json
import os
import pathlib
import sys
import time
import types

import numpy as np  # all else is imported where it is used: neither interpreter has everything

ROOT = pathlib.Path(__file__).resolve().parents[1]
OURS, LEARN2LEARN, TORCH_FUNC = "stochlwta_tf", "learn2learn", "torch.func"
POOL = 8  # batches that training goes round in


@dataclasses.dataclass(frozen=True)
class Workload:
    """What is trained, by which configuration of ours but for the numbers here, and how many times as fast ours should be."""

    title: str
    config: str
    kind: str
    input_shape: tuple
    outputs: int
    tasks: int
    support: int
    query: int
    inner_lr: float
    targets: dict
    inner_steps: int = 5
    outer_lr: float = 0.001


WORKLOADS = {
    "conv4": Workload(
        title="Conv4, Omniglot's shape, 5-way 1-shot, 1 query a class, 16 tasks, 5 steps",
        config="configs/omniglot_5w1s_maml.yaml",
        kind="classification",
        input_shape=(28, 28, 1),
        outputs=5,
        tasks=16,
        support=5,
        query=5,
        inner_lr=0.4,
        targets={LEARN2LEARN: 2.5, TORCH_FUNC: 1.1},
    ),
    "sinusoid": Workload(
        title="Sinusoid, ReLU 40-40, 10 points, 10 queries, 25 tasks, 5 steps",
        config="configs/sinusoid_default_maml.yaml",
        kind="regression",
        input_shape=(1,),
        outputs=1,
        tasks=25,
        support=10,
        query=10,
        inner_lr=0.01,
        targets={TORCH_FUNC: 3.0},
    ),
}


# The data: made once, in float64, read by every contestant in its own precision.


def make_data(workload, seed):
    """Initial weights in the order and layout of ours, and `POOL` batches of tasks."""
    rng = np.random.default_rng(seed)
    shape = (POOL, workload.tasks, workload.support + workload.query)
    if workload.kind == "classification":
        x = rng.random((*shape, *workload.input_shape))
        y = np.broadcast_to(np.arange(shape[-1]) % workload.outputs, shape).astype("int32")
        weights, channels = [], workload.input_shape[-1]
        for _ in range(4):
            weights += [_kernel(rng, 3, 3, channels, 64), _vector(rng, 64), 1 + _vector(rng, 64), _vector(rng, 64)]
            channels = 64
        weights += [_kernel(rng, 2 * 2 * 64, 5), _vector(rng, 5)]
    else:
        x = rng.uniform(-5, 5, (*shape, 1))
        amplitude, phase = rng.uniform(0.1, 5, (*shape[:2], 1, 1)), rng.uniform(0, np.pi, (*shape[:2], 1, 1))
        y = amplitude * np.sin(x + phase)
        weights = [a for i, o in itertools.pairwise((1, 40, 40, 1)) for a in (_kernel(rng, i, o), _vector(rng, o))]
    k = workload.support
    data = {"support_x": x[:, :, :k], "support_y": y[:, :, :k], "query_x": x[:, :, k:], "query_y": y[:, :, k:]}
    return {**data, **{f"weight{i:02}": w for i, w in enumerate(weights)}}


def _kernel(rng, *shape):
    bound = np.sqrt(6 / (np.prod(shape[:-1]) + np.prod(shape[:-2], dtype=int) * shape[-1]))
    return rng.uniform(-bound, bound, shape)


def _vector(rng, size):
    return 0.1 * rng.normal(size=size)  # not all alike, or an error in the gradient of one of them might not show


def weights_in(data):
    return [data[name] for name in sorted(data) if name.startswith("weight")]


# The contestants: each returns the meta-gradient of the first batch as a function, in our layout; a function that trains n iterations; and
# the number whose multiple n must be.


def ours(workload, data, options):
    from stochlwta_tf.config import configuration as configuration
    from stochlwta_tf.training import build

    rates = [f"learner.inner_lr={workload.inner_lr}", f"optimizer.learning_rate={workload.outer_lr}"]
    config = configuration.load(ROOT / workload.config, [*rates, f"learner.inner_steps={workload.inner_steps}"])
    build.runtime(config)
    import keras
    import tensorflow as tf

    from stochlwta_tf.tasks import Task

    keras.config.set_floatx(options["dtype"])
    keras.config.set_dtype_policy(options["dtype"])

    learner = build.learner(config, workload)
    for variable, value in zip(learner.network.trainable_variables, weights_in(data), strict=True):
        variable.assign(value)
    keys = np.arange(POOL * workload.tasks * 2, dtype="uint32").reshape(POOL, workload.tasks, 2)  # of noise, which MAML has none of
    batches = {**{name: data[name] for name in Task._fields if name != "key"}, "key": keys}
    tf_options = tf.data.Options()
    tf_options.autotune.enabled = False  # as in the package's own datasets
    dataset = tf.data.Dataset.from_tensor_slices(batches).repeat().with_options(tf_options)

    def gradient():
        return [g.numpy() for g in learner.meta_gradient(Task(**{k: tf.constant(v[0]) for k, v in batches.items()}))[0]]

    def train(n):
        learner.fit(dataset, steps_per_epoch=n, shuffle=False, verbose=0)

    return gradient, train, config.training.steps_per_execution


def learn2learn(workload, data, options):
    # The packages without their own `__init__`, which import the compiled extension and data sets.
    source = pathlib.Path(options["learn2learn"]) / "learn2learn"
    for name, folder in (("learn2learn", source), ("learn2learn.algorithms", source / "algorithms")):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
    from learn2learn.algorithms.maml import MAML

    network, loss, batches, layouts = _torch(workload, data, options, native=True)
    maml = MAML(network, lr=workload.inner_lr)

    def backward(support_x, support_y, query_x, query_y):
        for task in zip(support_x, support_y, query_x, query_y):
            learner = maml.clone()
            for _ in range(workload.inner_steps):
                learner.adapt(loss(learner(task[0]), task[1]))
            (loss(learner(task[2]), task[3]) / workload.tasks).backward()

    return _torch_contestant(workload, network, backward, batches, layouts)


def torch_func(workload, data, options):
    network, loss, batches, layouts = _torch(workload, data, options, native=False)
    from torch.func import functional_call, grad, vmap

    def loss_at(weights, x, y):
        return loss(functional_call(network, weights, (x,)), y)

    def meta_loss(weights, support_x, support_y, query_x, query_y):
        for _ in range(workload.inner_steps):
            gradient = grad(loss_at)(weights, support_x, support_y)
            weights = {k: w - workload.inner_lr * gradient[k] for k, w in weights.items()}
        return loss_at(weights, query_x, query_y)

    each = vmap(grad(meta_loss), in_dims=(None, 0, 0, 0, 0))

    def backward(*batch):
        gradient = each({k: p.detach() for k, p in network.named_parameters()}, *batch)
        for k, p in network.named_parameters():
            p.grad = gradient[k].mean(0)

    return _torch_contestant(workload, network, backward, batches, layouts)


CONTESTANTS = {OURS: ours, LEARN2LEARN: learn2learn, TORCH_FUNC: torch_func}


def _torch(workload, data, options, native):
    """The network with the given weights, the loss, the batches; and where each of our weights' elements is in PyTorch's.

    PyTorch's `padding=1` pads an even size at its start, TensorFlow's "same" at its end.  Rather than pad apart, which takes time, PyTorch
    sees mirrored images through mirrored kernels: the same network.

    Args:
        native: Whether batch normalisation is PyTorch's layer, or of elementary operations, which `vmap` handles better.
    """
    import torch
    from torch import nn

    torch.set_default_dtype(getattr(torch, options["dtype"]))
    torch.set_num_threads(options["threads"])
    torch.set_flush_denormal(True)  # as TensorFlow

    class BatchNorm(nn.Module):
        def __init__(self, channels):
            super().__init__()
            self.weight, self.bias = nn.Parameter(torch.ones(channels)), nn.Parameter(torch.zeros(channels))

        def forward(self, x):
            mean = x.mean((0, 2, 3))
            variance = (x - mean[:, None, None]).square().mean((0, 2, 3))
            factor = torch.rsqrt(variance + 1e-3) * self.weight
            return x * factor[:, None, None] + (self.bias - mean * factor)[:, None, None]

    images = workload.kind == "classification"
    if images:
        layers, channels = [], workload.input_shape[-1]
        for _ in range(4):
            norm = nn.BatchNorm2d(64, eps=1e-3, track_running_stats=False) if native else BatchNorm(64)
            layers += [nn.Conv2d(channels, 64, 3, stride=2, padding=1), norm, nn.ReLU()]
            channels = 64
        network, loss = nn.Sequential(*layers, nn.Flatten(), nn.Linear(2 * 2 * 64, 5)), nn.functional.cross_entropy
    else:
        network = nn.Sequential(nn.Linear(1, 40), nn.ReLU(), nn.Linear(40, 40), nn.ReLU(), nn.Linear(40, 1))
        loss = nn.functional.mse_loss

    def layout(shape):
        positions = np.arange(np.prod(shape)).reshape(shape)
        if len(shape) == 4:
            return positions[::-1, ::-1].transpose(3, 2, 0, 1)
        if len(shape) == 2 and images:
            return positions.reshape(2, 2, 64, 5)[::-1, ::-1].transpose(3, 2, 0, 1).reshape(5, -1)
        return positions.T

    layouts = [layout(w.shape) for w in weights_in(data)]
    with torch.no_grad():
        for p, w, positions in zip(network.parameters(), weights_in(data), layouts, strict=True):
            p.copy_(torch.from_numpy(w.ravel()[positions]))
    fields = []
    for name in ("support_x", "support_y", "query_x", "query_y"):
        values = data[name].astype("int64") if images and name.endswith("y") else data[name]
        if images and name.endswith("x"):
            values = values[:, :, :, ::-1, ::-1].transpose(0, 1, 2, 5, 3, 4)
        fields.append(torch.from_numpy(np.ascontiguousarray(values)))
    return network, loss, list(zip(*fields)), layouts


def _torch_contestant(workload, network, backward, batches, layouts):
    import torch

    optimizer = torch.optim.Adam(network.parameters(), workload.outer_lr)
    endless = itertools.cycle(batches)

    def gradient():
        optimizer.zero_grad()
        backward(*batches[0])
        result = []
        for p, positions in zip(network.parameters(), layouts):
            values = np.empty(positions.size)
            values[positions.ravel()] = p.grad.numpy().ravel()
            result.append(values)
        return result

    def train(n):
        for _ in range(n):
            optimizer.zero_grad()
            backward(*next(endless))
            optimizer.step()

    return gradient, train, 1


# A contestant's process: a number of iterations in, the seconds that they took out; or a file in, where the meta-gradient then lies.


def serve(contestant, workload, folder, options):
    options = json.loads(options)
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what libraries print is not an answer
    with np.load(pathlib.Path(folder) / "data.npz") as file:
        data = {name: file[name].astype(options["dtype"]) if file[name].dtype == "float64" else file[name] for name in file.files}
    gradient, train, multiple = CONTESTANTS[contestant](WORKLOADS[workload], data, options)
    print(json.dumps(multiple), file=answers)
    for line in sys.stdin:
        if not line.strip().isdecimal():
            np.savez(line.strip(), *gradient())
            print(0, file=answers)
            continue
        start = time.perf_counter()
        train(int(line))
        print(json.dumps(time.perf_counter() - start), file=answers)


if __name__ == "__main__":
    serve(*sys.argv[1:])
