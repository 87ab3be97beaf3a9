"""learn2learn's MAML, one task after another, with PyTorch's own layers."""

import itertools
import pathlib
import sys
import types

import torch
from torch import nn

from peers.torch_layout import Layout, set_up, sinusoids

METHODS = ("maml", "fomaml")
VERSION = "0.2.0"


def versions():
    return {"torch": torch.__version__, "learn2learn": VERSION}


def imported(source):
    """`learn2learn.algorithms.MAML`, without the packages' own `__init__`, which imports a compiled extension and data sets."""
    source = pathlib.Path(source) / "learn2learn"
    for name, folder in (("learn2learn", source), ("learn2learn.algorithms", source / "algorithms")):
        sys.modules[name] = types.ModuleType(name)
        sys.modules[name].__path__ = [str(folder)]
    from learn2learn.algorithms.maml import MAML

    return MAML


class Training:
    """The network with the given weights in MAML, and its losses."""

    def __init__(self, spec, data, options, dtype):
        set_up(dtype, options["threads"])
        self.layout, self.learner = Layout(spec), spec["config"]["learner"]
        self.network = network_of(spec, self.layout)
        self.loss = nn.functional.cross_entropy if spec["kind"] == "classification" else nn.functional.mse_loss
        with torch.no_grad():
            for p, w in zip(self.network.parameters(), self.layout.weights(data), strict=True):
                p.copy_(w.T if w.ndim == 2 else w)
        self.steps = self.learner["inner_steps"]
        if spec["predict"] and self.learner["test_inner_steps"] is not None:
            self.steps = self.learner["test_inner_steps"]
        first_order = self.learner["name"] == "fomaml"
        self.maml = imported(options["learn2learn"])(self.network, lr=self.learner["inner_lr"], first_order=first_order)

    def adapted(self, support_x, support_y):
        learner = self.maml.clone()
        for _ in range(self.steps):
            learner.adapt(self.loss(learner(support_x), support_y))
        return learner

    def backward(self, tasks):
        """Accumulates the meta-gradient of a batch."""
        count = len(tasks[0])
        for support_x, support_y, query_x, query_y in zip(*tasks):
            (self.loss(self.adapted(support_x, support_y)(query_x), query_y) / count).backward()


class Flatten(nn.Module):
    """To the package's order of features."""

    def __init__(self, mirrored):
        super().__init__()
        self.mirrored = mirrored

    def forward(self, x):
        x = x.flip(2, 3) if self.mirrored else x
        return x.permute(0, 2, 3, 1).reshape(x.shape[0], -1)


def network_of(spec, layout):
    network = spec["config"]["network"]
    if network["name"] == "mlp":
        widths = [1, *network["units"]]
        hidden = [m for a, b in zip(widths, widths[1:]) for m in (nn.Linear(a, b), nn.ReLU())]
        return nn.Sequential(*hidden, nn.Linear(widths[-1], spec["outputs"]))
    layers, channels, size = [], spec["input_shape"][-1], spec["input_shape"][0]
    for _ in range(4):
        stride = 2 if layout.mirrored else 1
        layers.append(nn.Conv2d(channels, network["filters"], 3, stride=stride, padding=1))
        layers.append(nn.BatchNorm2d(network["filters"], eps=1e-3, track_running_stats=False))
        layers += [nn.ReLU()] if layout.mirrored else [nn.MaxPool2d(2, ceil_mode=True), nn.ReLU()]
        channels, size = network["filters"], -(-size // 2)
    return nn.Sequential(*layers, Flatten(layout.mirrored), nn.Linear(channels * size * size, spec["outputs"]))


def checked(spec, data, options):
    training = Training(spec, data, options, "float64")
    tasks = training.layout.batches(data)[0]
    if spec["predict"]:
        support_x, support_y, query_x, _ = (t[0] for t in tasks)
        return [training.adapted(support_x, support_y)(query_x).detach().numpy()]
    training.backward(tasks)
    gradients = [p.grad.T if p.ndim == 2 else p.grad for p in training.network.parameters()]
    return [training.layout.weight_back(g.numpy()) for g in gradients]


class Contestant:
    """The training, or prediction; the option `threads` is PyTorch's, `learn2learn` the folder of its source."""

    multiple = 1

    def __init__(self, spec, data, options):
        self.training = Training(spec, data, options, "float32")
        self.spec, self.tasks = spec, spec["tasks"]
        self.batches = itertools.cycle(self.training.layout.batches(data))
        self.optimizer = torch.optim.Adam(self.training.network.parameters(), spec["config"]["optimizer"]["learning_rate"])

    def run(self, iterations):
        for _ in range(iterations):
            if self.spec["predict"]:
                support_x, support_y, query_x, _ = (t[0] for t in next(self.batches))
                learner = self.training.adapted(support_x, support_y)
                with torch.no_grad():
                    learner(query_x).numpy()
                continue
            tasks = sinusoids(self.spec, self.tasks) if self.spec["kind"] == "regression" else next(self.batches)
            self.optimizer.zero_grad()
            self.training.backward(tasks)
            self.optimizer.step()
