"""What dividing a training over replicas costs: the same cores as one device, as two logical devices, and as two processes.

    python benchmarks/replicas.py omniglot_20w1s omniglot_5w1s_maml --out benchmarks/results/replicas.csv

Each process of two has half of the machine's cores. Times are of meta-iterations alone: from the second row of `metrics.csv` to the last.
"""

import argparse
import csv
import functools
import os
import pathlib
import subprocess
import sys
import tempfile

from local_cluster import local_cluster

ROWS = 5  # of metrics.csv
# Runs on two logical devices of the CPU, as on a machine with two GPUs.
MIRRORED = """
import sys
import tensorflow as tf
from stochlwta_tf.cli import train
cpu = tf.config.list_physical_devices("CPU")[0]
tf.config.set_logical_device_configuration(cpu, [tf.config.LogicalDeviceConfiguration()] * 2)
sys.exit(train.main(sys.argv[1:]))
"""
WAYS = {"one device": "none", "two logical devices": "mirrored", "two processes": "multi_worker"}  # and their distributions
COLUMNS = ["config", "ways", "seconds", "core_seconds", "seconds_ratio", "core_seconds_ratio"]


def run(way, arguments):
    """Trains in one way, waits for the end, and returns how many processes it took."""
    train = [sys.executable, "-c", MIRRORED] if way == "two logical devices" else [sys.executable, "-m", "stochlwta_tf.cli.train"]
    clusters = [{"TF_CONFIG": text} for text in local_cluster(2)] if way == "two processes" else [{}]
    cores = sorted(os.sched_getaffinity(0))
    started = [
        subprocess.Popen(
            [*train, *arguments, f"runtime.distribution={WAYS[way]}"],
            env={"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ, **variables},
            stdout=subprocess.DEVNULL,
            preexec_fn=functools.partial(os.sched_setaffinity, 0, cores[place :: len(clusters)]),
        )
        for place, variables in enumerate(clusters)
    ]
    if any([process.wait() for process in started]):
        raise SystemExit(f"{way}: the training failed.")
    return len(started)


def of_an_iteration(metrics, processes):
    """Seconds and core seconds of a meta-iteration, those of all processes together: each is counted as the one that writes."""
    with metrics.open(encoding="utf-8", newline="") as file:
        first, *_, last = list(csv.DictReader(file))[1:]
    count = int(last["iteration"]) - int(first["iteration"])
    return [factor * (float(last[c]) - float(first[c])) / count for c, factor in (("seconds", 1), ("core_seconds", processes))]


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("configs", nargs="+", metavar="CONFIG", help="configurations of shipped names, or files")
    parser.add_argument("--tasks", type=int, default=16, help="in a batch (16)")
    parser.add_argument("--iterations", type=int, default=100, help="meta-iterations (100), a multiple of 5")
    parser.add_argument("--out", type=pathlib.Path, required=True, metavar="FILE", help="the table, as CSV")
    arguments = parser.parse_args(argv)
    keys = {
        "training.iterations": arguments.iterations,
        "training.log_every": arguments.iterations // ROWS,
        "training.steps_per_execution": 1,
        "training.meta_batch_size": arguments.tasks,
        "training.validate_every": 0,
        "training.keep_best": "false",
        "evaluation.tasks": 2,
        "evaluation.batch": 2,
    }
    rows = []
    for config in arguments.configs:
        alone = None
        for way in WAYS:
            with tempfile.TemporaryDirectory() as folder:
                out = pathlib.Path(folder) / "run"
                processes = run(way, ["--config", config, "--out", str(out), "--set", *(f"{key}={value}" for key, value in keys.items())])
                times = of_an_iteration(out / "metrics.csv", processes)
            alone = alone or times
            rows.append([config, way, *(f"{t:.4f}" for t in times), *(f"{t / a:.2f}" for t, a in zip(times, alone))])
            print(", ".join(rows[-1]), flush=True)
    with arguments.out.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([COLUMNS, *rows])
    return 0


if __name__ == "__main__":
    sys.exit(main())
