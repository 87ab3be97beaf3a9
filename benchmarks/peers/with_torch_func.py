"""torch.func: tasks under vmap, gradients by torch.func.grad."""

import itertools

import numpy as np
import torch
from methods import Method
from pattern import pattern
from torch.func import grad, vmap
from torch.nn import functional

from peers.torch_layout import Layout, set_up, sinusoids


def versions():
    return {"torch": torch.__version__}


class Operations:
    """What `methods.py` asks for; feature maps are `[examples, channels, height, width]`. There are no noise keys."""

    channel_axis = 1
    exp, log, sqrt, maximum = torch.exp, torch.log, torch.sqrt, torch.maximum
    stack, concat = torch.stack, torch.cat
    full_like, relu, softplus = torch.full_like, torch.relu, functional.softplus
    softmax, log_softmax = torch.softmax, torch.log_softmax
    grad = staticmethod(grad)

    def __init__(self, layout, given_noise=False):
        self.layout, self.given_noise = layout, given_noise

    def each(self, function):
        return vmap(function, randomness="different")

    def stop_gradient(self, x):
        return x.detach()

    def split(self, key, n):
        return [None] * n

    def normal(self, key, shape):
        if not self.given_noise:
            return torch.randn(shape)
        if len(shape) == 4:
            return torch.from_numpy(self.layout.weight(pattern([shape[i] for i in (2, 3, 1, 0)])))
        return torch.from_numpy(pattern(shape))

    def gumbel(self, key, shape):
        if not self.given_noise:
            return -torch.log(-torch.log(torch.rand(shape)))
        if len(shape) == 5:
            return torch.from_numpy(self.layout.channels_first(pattern([shape[i] for i in (0, 3, 4, 1, 2)]), 1))
        return torch.from_numpy(pattern(shape))

    def one_winner(self, values, axis):
        winner = values.argmax(axis, keepdim=True)
        places = torch.arange(values.shape[axis]).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
        return (winner == places).to(values.dtype)

    def cross_entropy(self, outputs, y):
        return functional.cross_entropy(outputs, y, reduction="none")

    def sort(self, x):
        return torch.sort(x).values

    def channels(self, vector):
        return vector[:, None, None] if torch.is_tensor(vector) else vector

    def flatten(self, x):
        """In the package's order, that of the head's weights."""
        x = x.flip(2, 3) if self.layout.mirrored else x
        return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)

    def conv(self, x, kernel, stride):
        return functional.conv2d(x, kernel, stride=stride, padding=1)

    def pool(self, x):
        return functional.max_pool2d(x, 2, ceil_mode=True)


def mean_meta_gradient(method, psi, tasks):
    each = vmap(lambda *task: method.meta_gradient(psi, task, None), randomness="different")
    return [g.mean(0) for g in each(*tasks)]


def checked(spec, data, options):
    set_up("float64", options["threads"])
    layout = Layout(spec)
    method, tasks, psi = Method(Operations(layout, given_noise=True), spec), layout.batches(data)[0], layout.weights(data)
    if spec["predict"]:
        return [d.numpy() for d in method.predict(psi, *(t[0] for t in tasks[:3]), None)]
    return [layout.weight_back(g.numpy()) for g in mean_meta_gradient(method, psi, tasks)]


class Contestant:
    """The training, or prediction; the option `threads` is PyTorch's."""

    multiple = 1

    def __init__(self, spec, data, options):
        set_up("float32", options["threads"])
        layout = Layout(spec)
        self.spec, self.tasks = spec, spec["tasks"]
        self.method = Method(Operations(layout), spec)
        self.psi, self.batches = layout.weights(data), itertools.cycle(layout.batches(data))
        optimizer = spec["config"]["optimizer"]
        make = {"adam": torch.optim.Adam, "sgd": torch.optim.SGD}[optimizer["name"]]
        self.optimizer = make(self.psi, optimizer["learning_rate"])

    def run(self, iterations):
        for _ in range(iterations):
            if self.spec["predict"]:
                support_x, support_y, query_x, _ = (t[0] for t in next(self.batches))
                np.stack([d.numpy() for d in self.method.predict(self.psi, support_x, support_y, query_x, None)])
                continue
            tasks = sinusoids(self.spec, self.tasks) if self.spec["kind"] == "regression" else next(self.batches)
            for p, g in zip(self.psi, mean_meta_gradient(self.method, self.psi, tasks)):
                p.grad = g
            self.optimizer.step()
