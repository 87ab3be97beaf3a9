"""Meta-training speed of second-order MAML: this package against learn2learn and torch.func, interleaved in one run.

TensorFlow and PyTorch need not share an environment, and here they do not share a process either: their thread pools get in each other's
way.  Make a second environment with `pip install torch numpy`, and unpack learn2learn's source, whose compiled extension MAML does not
need: `pip download --no-deps --no-binary :all: learn2learn==0.2.0`.  Then, with the interpreter that has this package:

    python benchmarks/against_torch.py --torch-python TORCH_ENV/bin/python --learn2learn learn2learn-0.2.0 --json speed.json

Without `--learn2learn` it is left out.  Every contestant is a process of its own, which reports how long it took for a number of
meta-iterations; one works at a time, in random order within each round.  All start from the same weights, on the same tasks in memory, and
take Adam's outer steps; ours are those of `learner.fit`, with its checks and scores.  That the work is the same is checked first: their
meta-gradients in float64 must agree.

PyTorch runs with one thread and with one for each core, and the faster of the two is what counts.  The machine should be quiet: PyTorch's
threads wait for each other at the end of every operation, so that another program on one of the cores slows several of them many times,
a single one and ours no more than their share.  The load average is printed with the result.
"""

import argparse
import contextlib
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import contestants
import numpy as np
from contestants import LEARN2LEARN, OURS, ROOT, TORCH_FUNC, WORKLOADS, make_data

LARGEST_DIFFERENCE = 1e-6  # of meta-gradients, relative


class Failure(Exception):
    """An error that the user can fix, in one line."""


class Process:
    """A running contestant."""

    def __init__(self, name, python, workload, folder, dtype="float32", threads=1, learn2learn=None):
        self.name = name if name == OURS else f"{name}, {threads} thread{'s' * (threads > 1)}"
        options = {"dtype": dtype, "threads": threads, "learn2learn": str(learn2learn)}
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
        # This checkout's package, whichever is installed; but no module search path of this interpreter for another one.
        path = [str(ROOT), os.environ.get("PYTHONPATH", "")] if name == OURS else []
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        command = [python, contestants.__file__, name, workload, folder, json.dumps(options)]
        self._process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8", env=environment)
        self._multiple = self._answer()

    def start(self, seconds):
        """Compiles it, and finds how many iterations take this long."""
        self.seconds(self._multiple)
        taken = self.seconds(self._multiple)
        self.iterations = self._multiple * max(1, round(seconds / taken))

    def seconds(self, iterations):
        """How long a number of iterations takes."""
        return self._ask(iterations)

    def gradient(self, file):
        """The meta-gradient of the first batch at the initial weights, through a file."""
        self._ask(file)
        with np.load(file) as stored:
            return [stored[k].ravel() for k in stored.files]

    def _ask(self, line):
        print(line, file=self._process.stdin, flush=True)
        return self._answer()

    def _answer(self):
        line = self._process.stdout.readline()
        if not line:
            raise Failure(f"{self.name} ended with exit status {self._process.wait()}; its messages are above.")
        return json.loads(line)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()


def race(workload, arguments):
    """Runs one workload; returns the tasks per second of each process round by round, and the differences of the meta-gradients."""
    order = np.random.default_rng(arguments.seed)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:
        np.savez(pathlib.Path(folder) / "data.npz", **make_data(WORKLOADS[workload], arguments.seed))
        differences = compare(workload, folder, arguments)
        processes = []
        for name, python in interpreters(arguments).items():
            for threads in sorted(set(arguments.torch_threads)) if name != OURS else [1]:
                process = Process(name, python, workload, folder, threads=threads, learn2learn=arguments.learn2learn)
                processes.append(stack.enter_context(process))
                process.start(arguments.seconds)  # before the next one: none is to be compiled while another one is timed
        rates = {p.name: [] for p in processes}
        for _ in range(arguments.rounds):
            for process in order.permutation(processes):
                rates[process.name].append(WORKLOADS[workload].tasks * process.iterations / process.seconds(process.iterations))
    return {name: np.array(values) for name, values in rates.items()}, differences


def interpreters(arguments):
    found = {OURS: sys.executable, TORCH_FUNC: arguments.torch_python, LEARN2LEARN: arguments.torch_python}
    return {name: python for name, python in found.items() if name != LEARN2LEARN or arguments.learn2learn is not None}


def compare(workload, folder, arguments):
    """The largest difference of each contestant's meta-gradient from ours, relative to the largest element of the same weight.

    In float64: in float32 a unit so near to ReLU's kink that rounding decides which side it is on now and then changes whole per cents.

    Raises:
        Failure: One of them is not our meta-gradient.
    """
    gradients = {}
    for name, python in interpreters(arguments).items():
        with Process(name, python, workload, folder, dtype="float64", learn2learn=arguments.learn2learn) as process:
            gradients[name] = process.gradient(os.path.join(folder, "gradient.npz"))
    differences = {}
    expected = gradients.pop(OURS)
    sizes = [np.abs(a).max() for a in expected]
    # The bias in front of batch normalisation has no gradient but rounding; its difference is relative to the largest of all weights.
    scales = [size if size > 1e-4 * max(sizes) else max(sizes) for size in sizes]
    for name, gradient in gradients.items():
        differences[name] = float(max(np.abs(a - b).max() / s for a, b, s in zip(expected, gradient, scales, strict=True)))
        print(f"{workload}: meta-gradient of {name} against ours, largest relative difference {differences[name]:.1e}", flush=True)
        if not differences[name] <= LARGEST_DIFFERENCE:
            raise Failure(f"{name} does not compute our meta-gradient: they may differ by {LARGEST_DIFFERENCE:g}.")
    return differences


def summary(results):
    """A row of each process: workload, name, tasks per second, ratios by round, and the ratio wanted to its contestant's faster one."""
    for workload, (rates, _) in results.items():
        for name, values in rates.items():
            ratios = None if name == OURS else rates[OURS] / values
            yield workload, name, values, ratios, WORKLOADS[workload].targets.get(name.split(",")[0])


def table(results):
    """The lines of a Markdown table of all workloads."""
    yield "| workload | contestant | tasks/s, median (range) | ours / it, round by round, median (range) | wanted of the faster |"
    yield "|---|---|---|---|---|"
    for workload, name, rates, ratios, wanted in summary(results):
        rate = f"{np.median(rates):.1f} ({rates.min():.1f} to {rates.max():.1f})"
        ratio = "" if ratios is None else f"{np.median(ratios):.2f} ({ratios.min():.2f} to {ratios.max():.2f})"
        yield f"| {workload} | {name} | {rate} | {ratio} | {wanted or ''} |"


def as_json(results, loads, arguments):
    report = {"rounds": arguments.rounds, "cores": os.cpu_count(), "load_before_and_after": loads, "results": []}
    for workload, name, rates, ratios, wanted in summary(results):
        entry = {"workload": WORKLOADS[workload].title, "contestant": name, "tasks_per_second": rates.tolist()}
        if ratios is not None:
            entry |= {
                "ratio_median": float(np.median(ratios)),
                "wanted": wanted,
                "gradient_difference": results[workload][1][name.split(",")[0]],
            }
        report["results"].append(entry)
    return json.dumps(report, indent=1) + "\n"


def check(arguments):
    """Raises Failure if an interpreter or source is not there."""
    try:
        found = subprocess.run([arguments.torch_python, "-c", "import numpy, torch"], capture_output=True, check=False)
    except OSError as error:
        raise Failure(f"--torch-python must be a Python interpreter. Received: {arguments.torch_python} ({error.strerror}).") from error
    if found.returncode:
        reason = (found.stderr.decode("utf-8", "replace").strip().splitlines() or ["no message"])[-1]
        raise Failure(f"--torch-python must have torch and numpy. Received: {arguments.torch_python} ({reason}).")
    if arguments.learn2learn is not None and not (arguments.learn2learn / "learn2learn" / "algorithms" / "maml.py").is_file():
        raise Failure(f"--learn2learn must hold learn2learn/algorithms/maml.py. Received: {arguments.learn2learn}.")


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--torch-python", required=True, metavar="FILE", help="interpreter of an environment with torch and numpy")
    parser.add_argument("--learn2learn", type=pathlib.Path, metavar="DIR", help="learn2learn's unpacked source; left out if not given")
    parser.add_argument("--workloads", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS))
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--seconds", type=float, default=2.0, help="about as long as each contestant works in a round")
    parser.add_argument("--torch-threads", type=int, nargs="+", default=[1, os.cpu_count()], metavar="N", help="each is tried")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write every round there")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE", help="write the table there")
    arguments = parser.parse_args(argv)
    try:
        check(arguments)
        loads = [os.getloadavg()[0]]
        results = {workload: race(workload, arguments) for workload in arguments.workloads}
        loads.append(os.getloadavg()[0])
    except Failure as failure:
        print(f"error: {failure}", file=sys.stderr)
        return 2
    lines = "\n".join(table(results)) + "\n"
    print(*(f"{workload}: {WORKLOADS[workload].title}" for workload in results), sep="\n")
    print(f"load average before and after: {loads[0]:.1f}, {loads[1]:.1f}, with {os.cpu_count()} cores", lines, sep="\n\n", end="")
    if arguments.markdown:
        arguments.markdown.write_text(lines, encoding="utf-8")
    if arguments.json:
        arguments.json.write_text(as_json(results, loads, arguments), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
