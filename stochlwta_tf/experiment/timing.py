"""Times of a meta-iteration and of adapting to one task and predicting it, of many configurations side by side in one process.

    python -m stochlwta_tf.experiment.timing --suite table3 --out results/timing-table3.json

The configurations take turns, so that what else the machine does falls on all of them, and ratios hold. Compilation is timed apart. A time
ends when its result is in host memory, which waits for a GPU.
"""

import argparse
import itertools
import json
import sys
import time
from pathlib import Path

import numpy as np

from stochlwta_tf.errors import DataError, UserError
from stochlwta_tf.experiment import build, suite_file
from stochlwta_tf.experiment import config as configuration
from stochlwta_tf.experiment.exit_status import exit_status, stoppable
from stochlwta_tf.experiment.run_folder import device_name, environment, write_json

_TIMES, _COUNTS = ("train_ms", "predict_ms"), ("parameters_trainable", "parameters_stored")


def main(argv=None):
    """Times configurations; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m stochlwta_tf.experiment.timing", description=__doc__.splitlines()[0])
    parser.add_argument("--suite", metavar="NAME", help="time every configuration of the suite's columns of times and parameters")
    parser.add_argument("--config", metavar="FILE", nargs="+", action="extend", default=[], help="time these configurations")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys of all of them")
    parser.add_argument("--rounds", type=int, default=30, metavar="N", help="measurements of each (default: 30)")
    parser.add_argument("--out", metavar="FILE", help="the result's file, timing*.json")
    parser.add_argument("--rate", action="store_true", help="print only the seconds of a meta-iteration of one --config, as JSON")
    arguments = parser.parse_args(argv)
    if bool(arguments.suite) == bool(arguments.config) or (arguments.rate and len(arguments.config) != 1):
        parser.error("give either --suite or --config; with --rate one --config")
    if arguments.rounds < 2:
        parser.error("--rounds must be at least 2")
    return exit_status(lambda: _main(arguments))


def _main(arguments):
    with stoppable("stopped; nothing was written."):
        if arguments.rate:
            config = configuration.load(arguments.config[0], arguments.set)
            build.runtime(config)
            print(json.dumps(rate(config)))
            return
        if arguments.suite:
            configs = _of_suite(arguments.suite, _TIMES, arguments.set)
            counted = {key: config for key, config in _of_suite(arguments.suite, _COUNTS, arguments.set).items() if key not in configs}
            configs, counted = list(configs.values()), list(counted.values())
        else:
            configs, counted = [configuration.load(path, arguments.set) for path in arguments.config], []
        if not configs and not counted:
            raise UserError("none of the suite's columns is a time or a number of parameters with a configuration in this version.")
        # One process has one setting of threads: the first's if all agree, else TensorFlow's own.
        first = (configs + counted)[0]
        if any(config.runtime != first.runtime for config in configs):
            values = {**first.resolved(), "runtime": {"device": first.runtime.device}}
            first = configuration.from_dict(values)
        build.runtime(first)
        result = measure(configs, arguments.rounds, counted)
        if arguments.out:
            Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
            write_json(Path(arguments.out), result)


def _of_suite(name, measures, assignments):
    """The configurations of a suite's cells of some measures, by what tells them apart."""
    from stochlwta_tf.report import match

    configs = [cell.load(assignments) for cell in suite_file.load(name).cells() if cell.measure in measures and cell.exists]
    return {json.dumps(match.timed(config), sort_keys=True): config for config in configs}


class Contestant:
    """A configuration that is timed.

    Args:
        config: A `Configuration`.
    """

    def __init__(self, config):
        from stochlwta_tf.networks import parameters_of

        self.config = config
        tasks = build.tasks(config, "train")
        self.learner = build.learner(config, tasks)
        alone = configuration.from_dict({**config.resolved(), "evaluation": {**config.resolved()["evaluation"], "batch": 1}})
        self._tested, self._twin = build.tasks(alone, "test").sample(0), build.for_test(self.learner, config)
        self._batches = iter(tasks.dataset())
        self.learner.make_train_function()
        self._step = self.learner.train_function  # what `fit` calls: as many iterations as `training.steps_per_execution`
        self.parameters = parameters_of(self.learner)

    def train(self):
        """Milliseconds of a meta-iteration."""
        start = time.perf_counter()
        logs = self._step(self._batches)
        float(next(iter(logs.values())))  # waits for the device
        return 1000 * (time.perf_counter() - start) / self.config.training.steps_per_execution

    def predict(self):
        """Milliseconds of adapting to one task and predicting it."""
        start = time.perf_counter()
        self._twin.predict_tasks(self._tested).numpy()
        return 1000 * (time.perf_counter() - start)


def measure(configs, rounds, counted=()):
    """Times configurations in turns.

    Args:
        configs: `Configuration`s.
        rounds: Measurements of each.
        counted: Further ones, of which only the parameters are counted.

    Returns:
        What a `timing.json` holds, a dictionary.
    """
    from stochlwta_tf.networks import parameters_of

    contestants = with_data(Contestant, configs)
    learners = with_data(lambda config: (config, build.learner(config, build.tasks(config, "train"))), counted)
    if not contestants and not learners:
        raise UserError("the data of none of the configurations is there.")
    times = {(i, what): [] for i in range(len(contestants)) for what in ("train", "predict")}
    for round_, (i, what) in itertools.product(range(rounds + 2), times):
        times[i, what].append(getattr(contestants[i], what)())
        if not round_:
            seconds = times[i, what][0] * (_steps(contestants[i]) if what == "train" else 1) / 1000
            print(f"{contestants[i].config.name}: {what} compiled in {seconds:.1f} s", file=sys.stderr, flush=True)
    entries = []
    for i, contestant in enumerate(contestants):
        spreads = {what: _spread(times[i, what], _steps(contestant) if what == "train" else 1) for what in ("train", "predict")}
        entries.append({"config": contestant.config.resolved(), **spreads, "parameters": contestant.parameters})
        print(f"{contestant.config.name}: " + ", ".join(f"{what} {s['median_ms']:.2f} ms" for what, s in spreads.items()), flush=True)
    entries += [{"config": config.resolved(), "parameters": parameters_of(learner)} for config, learner in learners]
    around = environment((list(configs) + list(counted))[0])
    return {
        "device": device_name(),
        "threads": around["threads"],
        "cpus": around["cpus"],
        "packages": around["packages"],
        "xla_flags": around["xla_flags"],
        "rounds": rounds,
        "command": " ".join(["python -m stochlwta_tf.experiment.timing", *sys.argv[1:]]),
        "entries": entries,
    }


def with_data(make, configs):
    """`make` of each configuration whose data is there; the others are named on standard error."""
    made = []
    for config in configs:
        try:
            made.append(make(config))
        except DataError as error:
            print(f"{config.name}: passed by: {error}", file=sys.stderr)
    return made


def _steps(contestant):
    return contestant.config.training.steps_per_execution


def _spread(milliseconds, steps):
    # The first call compiles; the second may still grow buffers.
    compiling, rest = milliseconds[0] * steps / 1000, np.array(milliseconds[2:])
    low, median, high = np.percentile(rest, [25, 50, 75])
    return {"median_ms": median, "low_ms": low, "high_ms": high, "count": len(rest), "compile_seconds": compiling}


def rate(config, seconds=5.0, least=3):
    """The speed of a training on its own, measured for a few seconds.

    Args:
        config: A `Configuration`.
        seconds: How long to measure, after compilation.
        least: Measurements at least.

    Returns:
        A dictionary: seconds of a meta-iteration, and of compiling.
    """
    contestant = Contestant(config)
    compiling = contestant.train() * _steps(contestant) / 1000
    contestant.train()
    start, times = time.perf_counter(), []
    while len(times) < least or time.perf_counter() - start < seconds:
        times.append(contestant.train())
    return {"seconds_per_iteration": float(np.mean(times)) / 1000, "compile_seconds": compiling}


if __name__ == "__main__":
    sys.exit(main())
