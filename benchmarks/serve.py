"""A contestant's process: requests and answers are lines of JSON, on standard input and output.

    {"do": "check", "file": FILE}   writes the meta-gradient (or the predictions) of given tasks, in float64 and with given noise
    {"do": "run", "iterations": N}  trains N meta-iterations (or predicts N tasks); answers how long that took, and the memory at most

`compare.py` starts it with the interpreter that has the peer's library.
"""

import importlib
import json
import os
import pathlib
import resource
import sys
import time

import numpy as np

# Seconds: where another contestant has just worked, the first iterations take longer, and a large process loses most by that.
WARM_UP = 0.5


def main(peer, folder, options):
    answers = os.fdopen(os.dup(1), "w", buffering=1, encoding="utf-8")
    os.dup2(2, 1)  # what libraries print is not an answer
    server = Server(importlib.import_module(f"peers.{peer}"), pathlib.Path(folder), json.loads(options))
    for line in sys.stdin:
        request = json.loads(line)
        print(json.dumps(getattr(server, request.pop("do"))(**request)), file=answers)


class Server:
    """The requests that a contestant answers."""

    def __init__(self, peer, folder, options):
        self.peer, self.folder, self.options = peer, folder, options
        self.contestant = None
        self.has_run = False

    def prepare(self, **workload):
        """Of the package alone: writes the specification, weights and tasks that all contestants read."""
        spec, data = self.peer.prepare(**workload)
        (self.folder / "spec.json").write_text(json.dumps(spec), encoding="utf-8")
        np.savez(self.folder / "data.npz", **data)
        return spec

    def start(self):
        """Loads the libraries."""
        return {"versions": self.peer.versions()}

    def check(self, file):
        np.savez(file, *self.peer.checked(self._spec(), self._data("float64", tasks=2), self.options))
        return {}

    def build(self):
        forget_peak_memory()
        self.contestant = self.peer.Contestant(self._spec(), self._data("float32"), self.options)
        return {"multiple": self.contestant.multiple, "tasks": self.contestant.tasks}

    def run(self, iterations):
        start = time.perf_counter()
        while self.has_run and time.perf_counter() - start < WARM_UP:
            self.contestant.run(self.contestant.multiple)
        wall, cpu = time.perf_counter(), time.process_time()
        self.contestant.run(iterations)
        wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.has_run = True
        return {"wall": wall, "cpu": cpu, "peak_mib": peak_memory()}

    def _spec(self):
        return json.loads((self.folder / "spec.json").read_text(encoding="utf-8"))

    def _data(self, dtype, tasks=None):
        with np.load(self.folder / "data.npz") as file:
            data = {name: file[name] if name.startswith("weight") else file[name][:, :tasks] for name in file.files}
        return {name: value.astype(dtype) if value.dtype.kind == "f" else value for name, value in data.items()}


def forget_peak_memory():
    """Lets the peak begin anew, where the system can: that of the check is no part of the comparison."""
    try:
        pathlib.Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")
    except OSError:
        pass


def peak_memory():
    """The process's memory at most, in MiB."""
    try:
        status = pathlib.Path("/proc/self/status").read_text(encoding="utf-8")
        return int(status.split("VmHWM:")[1].split()[0]) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 2**10)


if __name__ == "__main__":
    main(*sys.argv[1:])
