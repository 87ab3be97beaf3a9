"""Which results fill a cell: those whose configuration is the cell's, whatever their name, seed and length."""

import itertools
from typing import NamedTuple

import numpy as np

from stochlwta_tf import intervals
from stochlwta_tf.config import identity
from stochlwta_tf.errors import ConfigurationError


class Group(NamedTuple):
    """Results that may share a column: one protocol, one kind of batch statistics.

    Attributes:
        protocol: The protocol of the tests.
        trained: The protocol of the trainings.
        statistics: `"transductive"`, `"support"`, or None where no network has batch normalisation.
    """

    protocol: str
    trained: str
    statistics: str | None

    @property
    def under(self):
        """The protocol, with that of the training if it differs."""
        return self.protocol if self.trained == self.protocol else f"{self.protocol} (trained under {self.trained})"

    @property
    def title(self):
        statistics = {None: "no batch normalisation"}.get(self.statistics, f"batch statistics of normalised networks: {self.statistics}")
        return f"Protocol {self.under}, {statistics}"


class Matched(NamedTuple):
    """What fills a cell, over seeds.

    Attributes:
        results: The `Result`s, one per seed, all with the same number of iterations.
    """

    results: tuple

    @property
    def iterations(self):
        return self.results[0].evaluation.iterations

    @property
    def core_seconds(self):
        """Mean over seeds of the core seconds of the training; None where a run has no record of them."""
        return self._of_training("core_seconds")

    @property
    def validation(self):
        """Mean over seeds of the validation score of the tested weights; None where a run did not validate."""
        return self._of_training("validation")

    def _of_training(self, key):
        values = [result.evaluation.training.get(key) for result in self.results]
        return None if None in values else float(np.mean(values))

    @property
    def seeds(self):
        return [result.evaluation.seed for result in self.results]


class Matcher:
    """Finds the results and timings of cells among those collected.

    Args:
        collected: A `Collected`.

    Attributes:
        notes: A line for each result that seems to belong to a cell but is not used.
    """

    def __init__(self, collected):
        self._results = [
            (result, identity.training(result.config), identity.test(result.tested)) for result in collected.results if not result.earlier
        ]
        files = itertools.groupby(collected.timings, key=lambda timing: id(timing.file))
        self._timings = [[(timing, identity.timed(timing.config)) for timing in file] for _, file in files]
        self._expected, self._timings_of = {}, {}
        self.notes = []

    def expected(self, cell):
        """The cell's training and test, or None if its configuration is missing from this version or invalid."""
        key = (cell.config, *cell.assignments, *cell.further_test)
        if key not in self._expected:
            self._expected[key] = None
            try:
                if cell.exists:
                    config = cell.load()
                    tested = cell.load(cell.further_test) if cell.row.test else config
                    self._expected[key] = identity.training(config), identity.test(tested), config
            except ConfigurationError as error:
                self._note(f"{cell.config}: {error}")
        return self._expected[key]

    def groups(self, cells):
        """Every group with results of the cells; results without batch normalisation belong to each group of their protocol."""
        found = {self._group(result) for cell in cells for result in self._of(cell)}
        kept = (g for g in found if g.statistics or not any(o.statistics and o[:2] == g[:2] for o in found))
        return sorted(kept, key=lambda g: (*g[:2], g.statistics == "support"))  # the usual statistics first

    def _group(self, result):
        return Group(result.evaluation.protocol, result.config.protocol, result.evaluation.batch_statistics)

    def _of(self, cell):
        expected = self.expected(cell)
        if expected is None:
            return []
        trained, tested, config = expected
        found = []
        for result, has, has_test in self._results:
            if cell.suite.by_name and result.config.name != config.name:
                continue
            if has == trained and has_test == tested:
                found.append(result)
            elif (
                cell.column.run
                and result.config.name == config.name
                and (has != trained or result.file == "evaluation.json" and not cell.row.test)
            ):
                key, old, new = identity.difference(*((trained, has) if has != trained else (tested, has_test)))
                self._note(f"{result.folder}: not {config.name} as {cell.config} has it: {key}={old}. Received: {key}={new}.")
        return found

    def matched(self, cell, group):
        """The cell's `Matched` in a group, or None.

        If runs of one experiment differ in length, the longest count; per seed the test with the most tasks, then the run's own test, then
        the first folder.
        """
        found = [r for r in self._of(cell) if self._group(r)[:2] == group[:2] and r.evaluation.batch_statistics in (None, group.statistics)]
        if not found:
            return None
        most = max(r.evaluation.iterations for r in found)
        seeds = {}
        for result in sorted(found, key=lambda r: (-r.evaluation.tasks, r.file != "evaluation.json")):
            where = f"{result.folder}/{result.file}"
            if result.evaluation.iterations < most:
                self._note(f"{where}: not used, there are longer runs of it ({most} iterations).")
            elif (used := seeds.setdefault(result.evaluation.seed, result)) is not result:
                self._note(f"{where}: not used, {used.folder}/{used.file} is the same experiment with the same seed.")
        return Matched(tuple(seeds[seed] for seed in sorted(seeds)))

    def compared(self, cell, matched, group):
        """Of each seed that a cell and the one it is compared with have, the mean difference on the same tasks and half of its interval.

        Empty where there is none; a note says why where the two were tested on other tasks.
        """
        other = cell.compared
        others = self.matched(other, group) if other else None
        if others is None or cell.measure not in matched.results[0].evaluation.per_task:
            return []
        of_seed = {result.evaluation.seed: result for result in others.results}
        try:
            pairs = [(result, of_seed[result.evaluation.seed]) for result in matched.results if result.evaluation.seed in of_seed]
            return [paired(*pair, cell.measure) for pair in pairs]
        except ConfigurationError as error:
            self._note(str(error))
            return []

    def counted(self, cell):
        """A `Timing` with the cell's parameters, or None; from the last file if there are several."""
        expected = self.expected(cell)
        if expected is None:
            return None
        wanted = identity.timed(expected[2])
        return next((timing for file in reversed(self._timings) for timing, values in file if values == wanted), None)

    def timing(self, cell):
        """The cell's `Timing`, or None; a suite's come from one file, so that ratios hold: that with the most cells, or the last."""
        suite = cell.suite
        if suite.file not in self._timings_of:
            wanted = [identity.timed(expected[2]) for expected in map(self.expected, suite.cells()) if expected]
            last_first = reversed(self._timings)
            self._timings_of[suite.file] = max(last_first, key=lambda file: sum(wanted.count(values) for _, values in file), default=[])
        expected = self.expected(cell)
        return next((timing for timing, values in self._timings_of[suite.file] if expected and values == identity.timed(expected[2])), None)

    def _note(self, line):
        if line not in self.notes:
            self.notes.append(line)


def paired(result, other, measure):
    """Mean of a measure's difference between two results on the same tasks, and half the width of its 95 % interval (see `intervals`).

    Args:
        result, other: `Result`s whose files have `per_task`.
        measure: `"accuracy"` or `"mse"`.

    Raises:
        ConfigurationError: They are not on the same tasks, or a file has no values per task.
    """
    tasks, others = (
        (identity.test(r.tested)["task"], r.tested.evaluation.seed, r.evaluation.protocol, r.evaluation.tasks) for r in (result, other)
    )
    if tasks != others:
        raise ConfigurationError(f"a paired difference needs two tests on the same tasks. Received: {result.folder} and {other.folder}.")
    for r in (result, other):
        if measure not in (has := r.evaluation.per_task):
            raise ConfigurationError(f"{r.folder}/{r.file}: per_task must have {measure}. Received: {', '.join(has) or 'nothing'}.")
    return intervals.paired_difference(*(r.evaluation.per_task[measure] for r in (result, other)))


def mean_and_std(values):
    """Mean over seeds, and the standard deviation over them, or None where there is one."""
    values = np.asarray(values, "float64")
    return float(values.mean()), float(values.std(ddof=1)) if len(values) > 1 else None
