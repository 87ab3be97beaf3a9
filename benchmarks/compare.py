"""Speed of this package beside JAX, torch.func, learn2learn and the paper's published code: the same work, alternating in one run.

    python benchmarks/compare.py --jax-python JAX/bin/python --torch-python TORCH/bin/python --learn2learn SOURCE --json speed.json

What is compared, and how, is in benchmarks/README.md. Peers without an interpreter are named and left out.
"""

import argparse
import contextlib
import json
import os
import pathlib
import platform
import sys
import tempfile
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # the machine's rate of matrix products is that of one core
import numpy as np
from contestants import OURS, PEERS, Contestant, Failure, available, variants
from report import table
from workloads import WORKLOADS, task_flops

LARGEST_DIFFERENCE = 1e-6  # of meta-gradients in float64, relative


def compare(workload, interpreters, arguments):
    """Runs one workload; returns an entry for each contestant."""
    order = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder, contextlib.ExitStack() as stack:

        def process(peer, options):
            contestant = Contestant(peer, interpreters[peer], folder, options)
            stack.callback(contestant.close)
            return contestant

        ours = process(OURS, {})
        work = WORKLOADS[workload]
        spec = ours.ask("prepare", config=work.config, assignments=work.assignments, predict=work.predict)
        expected = gradient(ours)
        racing, differences, versions = [], {}, {}
        for peer in interpreters:
            learners = PEERS[peer].learners
            if learners and spec["config"]["learner"]["name"] not in learners:
                continue
            tried = []
            for options in variants(peer, spec, arguments):
                contestant = ours if peer == OURS else process(peer, options)
                if peer not in differences:
                    versions[peer] = contestant.ask("start")["versions"]
                    differences[peer] = difference(workload, expected, expected if peer == OURS else gradient(contestant), peer)
                contestant.start(arguments.seconds)  # before the next one: none is to be compiled while another one is timed
                contestant.measure()
                print(f"{workload}: {peer} {contestant.setting}: {1000 * contestant.cpus[0]:.3f} ms of processor time a task", flush=True)
                tried.append(contestant)
            # The fastest by the clock need not be that of the least processor time: both race.
            best = {id(min(tried, key=lambda c, of=of: getattr(c, of))) for of in ("walls", "cpus")}
            for contestant in tried:
                contestant.forget()
                if id(contestant) in best:
                    racing.append(contestant)
                else:
                    contestant.close()
        rates = []
        for _ in range(arguments.rounds):
            rates.append(matrix_product_rate())
            for contestant in order.permutation(np.array(racing, dtype=object)):
                contestant.measure()
        return entries(workload, spec, racing, differences, versions, np.median(rates), arguments)


def gradient(contestant):
    """What a contestant computes in the check: its meta-gradient, or predictions."""
    file = os.path.join(contestant.folder, "checked.npz")
    contestant.ask("check", file=file)
    with np.load(file) as stored:
        return [stored[f"arr_{i}"] for i in range(len(stored.files))]


def difference(workload, expected, got, peer):
    """The largest difference between two lists of arrays, relative to the largest element of the same array.

    In float64: in float32 a unit so near to ReLU's kink that rounding decides which side it is on now and then changes whole per cents.

    Raises:
        Failure: They are not the same.
    """
    sizes = [np.abs(a).max() for a in expected]
    # The bias in front of batch normalisation has no gradient but rounding; its difference is relative to the largest of all weights.
    scales = [size if size > 1e-4 * max(sizes) else max(sizes) for size in sizes]
    found = float(max(np.abs(a - b).max() / s for a, b, s in zip(expected, got, scales, strict=True)))
    if not found <= LARGEST_DIFFERENCE:
        raise Failure(f"{workload}: {peer} does other work: its result differs by {found:.1e}, and may by {LARGEST_DIFFERENCE:g}.")
    return found


def matrix_product_rate(size=1024):
    """Floating-point operations of float32 matrix products in a second of one core."""
    a = np.ones((size, size), "float32")
    a @ a
    start = time.process_time()
    for _ in range(4):
        a @ a
    return 4 * 2 * size**3 / (time.process_time() - start)


def entries(workload, spec, racing, differences, versions, rate, arguments):
    """What is kept of a workload: one dictionary for each peer."""
    flops = task_flops(spec)
    own = next(c for c in racing if c.peer == OURS)
    for peer in differences:
        by_wall, by_cpu = (
            min((c for c in racing if c.peer == peer), key=lambda c, of=of: np.median(getattr(c, of))) for of in ("walls", "cpus")
        )
        walls, cpus = (np.divide(getattr(c, of), getattr(own, of)) for c, of in ((by_wall, "walls"), (by_cpu, "cpus")))
        yield {
            "workload": workload,
            "title": WORKLOADS[workload].described(spec),
            "peer": peer,
            "wall_ratio": float(np.median(walls)),
            "cpu_ratio": float(np.median(cpus)),
            "wall_ratio_quartiles": np.percentile(walls, [25, 75]).tolist(),
            "cpu_ratio_quartiles": np.percentile(cpus, [25, 75]).tolist(),
            "wall_ms_per_task": 1000 * float(np.median(by_wall.walls)),
            "cpu_ms_per_task": 1000 * float(np.median(by_cpu.cpus)),
            "compile_wall_seconds": by_cpu.compile["wall"],
            "compile_cpu_seconds": by_cpu.compile["cpu"],
            "peak_mib": by_cpu.peak,
            "gflops_per_cpu_second": flops / float(np.median(by_cpu.cpus)) / 1e9,
            "matrix_product_share": flops / float(np.median(by_cpu.cpus)) / float(rate),
            "setting": {"wall": by_wall.setting, "cpu": by_cpu.setting},
            "difference": differences[peer],
            "repetitions": arguments.rounds,
            "versions": {"python": platform.python_version(), **versions[peer]} if peer == OURS else versions[peer],
            "machine": machine(),
        }


def machine():
    """The processor, in words, and how busy it was."""
    model = platform.processor() or platform.machine()
    with contextlib.suppress(OSError):
        lines = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    return {"processor": model, "cores": os.cpu_count(), "load": round(os.getloadavg()[0], 1)}


def parsed(argv):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jax-python", metavar="FILE", help="interpreter of an environment with jax, optax and numpy")
    parser.add_argument("--torch-python", metavar="FILE", help="interpreter of an environment with torch and numpy")
    parser.add_argument("--learn2learn", type=pathlib.Path, metavar="DIR", help="the unpacked source of learn2learn 0.2.0")
    parser.add_argument(
        "--workloads", nargs="+", choices=list(WORKLOADS), default=list(WORKLOADS), metavar="NAME", help="; ".join(WORKLOADS)
    )
    parser.add_argument(
        "--peers", nargs="+", choices=[p for p in PEERS if p != OURS], default=[p for p in PEERS if p != OURS], metavar="NAME"
    )
    parser.add_argument("--rounds", type=int, default=9, metavar="N", help="repetitions, in each of which all take turns (default: 9)")
    parser.add_argument("--seconds", type=float, default=2.0, metavar="S", help="processor time of a contestant's turn (default: 2)")
    parser.add_argument("--torch-threads", type=int, nargs="+", default=[1, os.cpu_count()], metavar="N", help="each is tried")
    parser.add_argument("--quick", action="store_true", help="two short repetitions: does everything run?")
    parser.add_argument("--json", type=pathlib.Path, metavar="FILE", help="write the result there, after each workload")
    arguments = parser.parse_args(argv)
    arguments.peers = [OURS, *arguments.peers]
    if arguments.quick:
        arguments.rounds, arguments.seconds = 2, 0.1
    if arguments.rounds < 1:
        parser.error("--rounds must be at least 1")
    return arguments


def main(argv=None):
    arguments = parsed(argv)
    results, status = [], 0
    interpreters = available(arguments)
    for workload in arguments.workloads:
        try:
            results += compare(workload, interpreters, arguments)
        except Failure as failure:  # the other workloads are worth having
            print(f"error: {failure}", file=sys.stderr)
            status = 1
        if arguments.json:
            arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")
    print(*table(results), sep="\n")
    return status


if __name__ == "__main__":
    sys.exit(main())
