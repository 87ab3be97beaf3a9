"""Times of a meta-iteration and of adapting to one task and predicting it, of many configurations side by side in one process.

The configurations take turns, so that other load on the machine affects all of them alike and ratios hold. Compilation is timed separately.
A measurement ends when its result is in host memory, which waits for a GPU.
"""

import itertools
import sys
import time

import numpy as np

from stochlwta_tf.config import configuration
from stochlwta_tf.errors import DataError, UserError
from stochlwta_tf.learners.non_finite import named_if_not_finite
from stochlwta_tf.networks import parameters_of
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import device_name, environment


class Contestant:
    """A configuration to be timed.

    Args:
        config: A `Configuration`.
    """

    def __init__(self, config):
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
        """Milliseconds of a meta-iteration.

        Raises:
            NonFiniteError: The training diverges.
        """
        start = time.perf_counter()
        with named_if_not_finite(lambda: f"{self.config.name}: the training that is timed diverges; a smaller learner.inner_lr may help."):
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
        counted: Further ones whose parameters are counted without timing them.

    Returns:
        What a `timing.json` holds, a dictionary.
    """
    contestants = with_data(Contestant, configs)
    learners = with_data(lambda config: (config, build.learner(config, build.tasks(config, "train"))), counted)
    if not contestants and not learners:
        raise UserError("none of the configurations has its data available.")
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
        "command": " ".join(["python -m stochlwta_tf.cli.timing", *sys.argv[1:]]),
        "entries": entries,
    }


def with_data(make, configs):
    """`make` of each configuration whose data is available; the others are named on standard error."""
    made = []
    for config in configs:
        try:
            made.append(make(config))
        except DataError as error:
            print(f"{config.name}: skipped: {error}", file=sys.stderr)
    return made


def _steps(contestant):
    return contestant.config.training.steps_per_execution


def _spread(milliseconds, steps):
    # The first call compiles; the second may still grow buffers.
    compiling, rest = milliseconds[0] * steps / 1000, np.array(milliseconds[2:])
    low, median, high = np.percentile(rest, [25, 50, 75])
    return {"median_ms": median, "low_ms": low, "high_ms": high, "count": len(rest), "compile_seconds": compiling}


def rate(config, seconds=5.0, least=3):
    """The speed of one training, measured for a few seconds.

    Args:
        config: A `Configuration`.
        seconds: How long to measure, after compilation.
        least: Measurements at least.

    Returns:
        A dictionary: seconds of all cores together for a meta-iteration, and of compiling.
    """
    contestant = Contestant(config)
    compiling = contestant.train() * _steps(contestant) / 1000
    contestant.train()
    start, core_start, count = time.perf_counter(), time.process_time(), 0
    while count < least or time.perf_counter() - start < seconds:
        contestant.train()
        count += 1
    each = (time.process_time() - core_start) / (count * _steps(contestant))
    return {"seconds_per_iteration": each, "compile_seconds": compiling}
