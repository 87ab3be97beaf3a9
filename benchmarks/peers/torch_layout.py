"""Weights and images of the package in PyTorch's order.

PyTorch's `padding=1` pads an even size at its start, TensorFlow's "same" at its end. Rather than pad apart, which takes time, PyTorch sees
mirrored images through mirrored kernels where the stride is 2: the same network.
"""

import math

import numpy as np
import torch

FIELDS = ("support_x", "support_y", "query_x", "query_y")


class Layout:
    """How arrays of a workload are ordered in PyTorch.

    Args:
        spec: The workload's specification.
    """

    def __init__(self, spec):
        network = spec["config"]["network"]
        self.convolutional = network["name"] == "conv4"
        self.mirrored = self.convolutional and network["downsampling"] == "stride"
        self.classes = spec["kind"] == "classification"

    def weight(self, array):
        """A weight: kernels of convolutions, `[..., height, width, in, out]`, become `[..., out, in, height, width]`; others stay."""
        if array.ndim < 4:
            return array
        array = np.flip(array, (-4, -3)) if self.mirrored else array
        return np.ascontiguousarray(np.moveaxis(array, (-1, -2), (-4, -3)))

    def weight_back(self, array):
        if array.ndim < 4:
            return array
        array = np.moveaxis(array, (-4, -3), (-1, -2))
        return np.flip(array, (-4, -3)) if self.mirrored else array

    def channels_first(self, array, first):
        """Feature maps `[..., height, width, channels]` whose height is axis `first`; more than one axis may follow the width."""
        if self.mirrored:
            array = np.flip(array, (first, first + 1))
        return np.ascontiguousarray(np.moveaxis(array, (first, first + 1), (-2, -1)))

    def batches(self, data):
        """Batches of tasks as tensors."""
        fields = []
        for name in FIELDS:
            values = data[name].astype("int64") if self.classes and name.endswith("y") else data[name]
            if values.dtype.kind == "f" and self.classes:
                values = (
                    self.channels_first(values, 3) if self.convolutional else values.reshape(*values.shape[:3], math.prod(values.shape[3:]))
                )
            fields.append(torch.from_numpy(values))
        return list(zip(*fields))

    def weights(self, data):
        return [torch.from_numpy(self.weight(data[name])) for name in sorted(data) if name.startswith("weight")]


def set_up(dtype, threads):
    torch.set_default_dtype(getattr(torch, dtype))
    torch.set_num_threads(threads)
    torch.set_flush_denormal(True)  # as TensorFlow


def sinusoids(spec, tasks):
    """A batch of the tasks of Finn et al. (2017)."""
    k = spec["support"]
    amplitude, phase = 0.1 + 4.9 * torch.rand(tasks, 1, 1), torch.pi * torch.rand(tasks, 1, 1)
    x = 10 * torch.rand(tasks, k + spec["queries"], 1) - 5
    y = amplitude * torch.sin(x + phase)
    return x[:, :k], y[:, :k], x[:, k:], y[:, k:]
