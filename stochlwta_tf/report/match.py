"""Which results fill a cell: those whose configuration is the cell's, whatever their name, seed and length."""

from typing import NamedTuple

import numpy as np

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.experiment import config as configuration

_TASK_PLACE = ("data_dir", "protocol")  # where the data lies; the protocol has a column group of its own
_LEARNER_PLACE = ("batch_statistics", "runner", "parallel_tasks")  # a column group of its own; how tasks are computed, not what


def training(config):
    """What makes two trainings repetitions of one, as plain values.

    Left out are name, seed, number of iterations, what is recorded and kept, threads and device, protocol and batch statistics.
    """
    values = config.resolved()
    return {
        "task": _task(values["task"]),
        "network": values["network"],
        "learner": _learner(values["learner"]),
        "optimizer": values["optimizer"],
        "training": {"batch": values["training"]["batch"]},
    }


def test(config, task, evaluation):
    """What makes two tests repetitions of one, as plain values.

    Args:
        config: The run's `Configuration`.
        task: The test's `task` section.
        evaluation: Its `evaluation` section, whose options of the learner count.
    """
    learner = config.resolved()["learner"]
    overrides = {key: value for key, value in evaluation.items() if key in learner and key != "name"}
    return {"task": _task(task), "evaluation": _learner({**learner, **overrides})}


def _task(values):
    return {key: value for key, value in values.items() if key not in _TASK_PLACE}


def _learner(values):
    return {key: value for key, value in values.items() if key not in _LEARNER_PLACE}


class Group(NamedTuple):
    """Results that may share a column: one protocol, one kind of batch statistics.

    Attributes:
        protocol: That the tests were made under.
        trained: The protocol that the runs were trained under.
        statistics: `"transductive"`, `"support"`, or None where no network has batch normalisation.
    """

    protocol: str
    trained: str
    statistics: str | None

    @property
    def title(self):
        trained = "" if self.trained == self.protocol else f" (trained under {self.trained})"
        statistics = {None: "no batch normalisation"}.get(self.statistics, f"batch statistics of normalised networks: {self.statistics}")
        return f"Protocol {self.protocol}{trained}, {statistics}"


class Matched(NamedTuple):
    """What fills a cell, over seeds.

    Attributes:
        results: The `Result`s, one a seed, all of the same number of iterations.
    """

    results: tuple

    @property
    def iterations(self):
        return self.results[0].evaluation.iterations

    @property
    def seeds(self):
        return [result.evaluation.seed for result in self.results]


class Matcher:
    """Finds the results and timings of cells among those collected.

    Args:
        collected: A `Collected`.

    Attributes:
        notes: A line for each result that seems meant for a cell and is not used.
    """

    def __init__(self, collected):
        self._results = [(r, training(r.config), test(r.config, r.evaluation.task, r.evaluation.evaluation)) for r in collected.results]
        self._timings = [(timing, training(timing.config)) for timing in collected.timings]
        self._expected = {}
        self.notes = []

    def expected(self, cell):
        """The cell's training and test, or None where its configuration is not in this version or not valid."""
        key = (cell.config, *cell.assignments)
        if key not in self._expected:
            try:
                self._expected[key] = cell.load() if cell.exists else None
            except ConfigurationError as error:
                self._note(f"{cell.config}: {error}")
                self._expected[key] = None
        config = self._expected[key]
        if config is None:
            return None
        values = config.resolved()
        return training(config), test(config, values["task"], {**values["evaluation"], **cell.row.test}), config

    def groups(self, cells):
        """Every group that results of the cells are in; results without batch normalisation are in each of their protocol."""
        found = {self._group(result) for cell in cells for result in self._of(cell)}
        return sorted(
            (g for g in found if g.statistics or not any(o.statistics and o[:2] == g[:2] for o in found)), key=lambda g: tuple(map(str, g))
        )

    def _group(self, result):
        return Group(result.evaluation.protocol, result.config.protocol, result.evaluation.batch_statistics)

    def _of(self, cell):
        expected = self.expected(cell)
        if expected is None:
            return []
        trained, tested, config = expected
        found = []
        for result, run, run_test in self._results:
            if run == trained and run_test == tested:
                found.append(result)
            elif result.config.name == config.name and (run != trained or result.file == "evaluation.json" and not cell.row.test):
                key, old, new = configuration.difference(*((trained, run) if run != trained else (tested, run_test)))
                self._note(f"{result.folder}: not {config.name} as {cell.config} has it: {key}={old}. Received: {key}={new}.")
        return found

    def matched(self, cell, group):
        """The cell's `Matched` in a group, or None.

        Where runs of one experiment differ in length the longest count, and of one seed the first folder.
        """
        found = [r for r in self._of(cell) if self._group(r)[:2] == group[:2] and r.evaluation.batch_statistics in (None, group.statistics)]
        if not found:
            return None
        most = max(r.evaluation.iterations for r in found)
        seeds = {}
        for result in found:
            if result.evaluation.iterations < most:
                self._note(f"{result.folder}: not used, there are longer runs of it ({most} iterations).")
            elif seeds.setdefault(result.evaluation.seed, result) is not result:
                self._note(f"{result.folder}: not used, {seeds[result.evaluation.seed].folder} is the same experiment with the same seed.")
        return Matched(tuple(seeds[seed] for seed in sorted(seeds)))

    def timing(self, cell):
        """The cell's `Timing`, or None; of several the last file's."""
        expected = self.expected(cell)
        found = [timing for timing, run in self._timings if expected and run == expected[0]]
        return found[-1] if found else None

    def _note(self, line):
        if line not in self.notes:
            self.notes.append(line)


def mean_and_std(values):
    """Mean over seeds, and the standard deviation over them, or None where there is one."""
    values = np.asarray(values, "float64")
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None
