"""Meta-iterations per second of a configuration: `learner.fit` against a bare compiled loop over the same step, interleaved in one run.

    python benchmarks/meta_iterations.py --config configs/omniglot_20w1s.yaml --iterations 100 --rounds 7

Prints the median and the range over rounds of both, their ratio round by round, and the time of compilation apart.
"""

import argparse
import itertools
import sys
import time

import numpy as np

from stochlwta_tf.cli.exit_status import exit_status
from stochlwta_tf.config import configuration as configuration
from stochlwta_tf.training import build


def bare_loop(learner, iterations):
    """A compiled function that runs the learner's step `iterations` times on an iterator, without Keras's loop around it."""
    import tensorflow as tf

    from stochlwta_tf.tasks.task import Task

    @tf.function(autograph=False)
    def run(iterator):
        def step(i):
            gradient, _ = learner.meta_gradient(Task(**next(iterator)))
            learner.optimizer.apply(gradient, learner.trainable_variables)
            return (i + 1,)

        return tf.while_loop(lambda i: i < iterations, step, (tf.constant(0),), parallel_iterations=1)

    return run


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--config", required=True, metavar="FILE")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[])
    parser.add_argument("--iterations", type=int, default=100, help="meta-iterations in a round; a multiple of steps_per_execution")
    parser.add_argument("--rounds", type=int, default=7)
    arguments = parser.parse_args(argv)
    return exit_status(lambda: measure(configuration.load(arguments.config, arguments.set), arguments.iterations, arguments.rounds))


def measure(config, iterations, rounds):
    build.runtime(config)
    tasks = build.tasks(config, "train")
    learner = build.learner(config, tasks)
    dataset = tasks.dataset()  # made once: to trace the sampler takes as long as many iterations
    loop, batches = bare_loop(learner, iterations), iter(dataset)

    def fit():
        learner.fit(dataset, steps_per_epoch=iterations, shuffle=False, verbose=0)

    contestants = {"fit": fit, "bare loop": lambda: loop(batches)}
    seconds = {name: [] for name in contestants}
    for round_, (name, run) in itertools.product(range(rounds + 1), contestants.items()):
        start = time.perf_counter()
        run()
        elapsed = time.perf_counter() - start
        if round_:
            seconds[name].append(elapsed)
        else:
            print(f"{name}: first round, with compilation, {elapsed:.1f} s")
    for name, times in seconds.items():
        rates = iterations / np.array(times)
        print(f"{name}: median {np.median(rates):.1f} meta-iterations/s ({rates.min():.1f} to {rates.max():.1f})")
    ratios = np.array(seconds["fit"]) / np.array(seconds["bare loop"])
    print(f"fit / bare loop, time round by round: median {np.median(ratios):.3f} ({ratios.min():.3f} to {ratios.max():.3f})")


if __name__ == "__main__":
    sys.exit(main())
