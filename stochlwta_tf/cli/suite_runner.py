"""Trains the runs of a suite: `train.py --suite table5 --budget 10m --jobs 4`."""

from collections import deque
from pathlib import Path
from typing import NamedTuple

from stochlwta_tf.cli import budgets, launchers
from stochlwta_tf.cli.exit_status import stoppable
from stochlwta_tf.cli.suite_progress import NoProgress, SuiteProgress
from stochlwta_tf.cli.suite_run import SuiteRun
from stochlwta_tf.config import suites
from stochlwta_tf.errors import UserError
from stochlwta_tf.report import commands

_LOOK = 2.0  # seconds between two looks at how far the runs are


class Run(NamedTuple):
    """A training of a suite, over its seeds.

    Attributes:
        cell: One of the cells that it fills.
        tests: Those of its cells that test the trained model with other options.
    """

    cell: suites.Cell
    tests: tuple


def runs_of(suite):
    """The `Run`s that fill a suite's cells, each once, and the configurations that this version lacks."""
    cells, unknown = {}, {}
    for cell in suite.cells():
        if cell.column.run and cell.exists:
            cells.setdefault((cell.config, *cell.assignments), []).append(cell)
        elif cell.column.run:
            unknown[cell.config] = None
    runs = []
    for same in cells.values():
        tests = [cell for cell in same if cell.test_assignments]
        runs.append(Run(same[0], (*tests, *(same[0].tested(options) for options in suite.also))))
    return runs, list(unknown)


def main(arguments):
    """Trains a suite's runs from the command line.

    Args:
        arguments: `suite`, `budget`, `columns`, `rows`, `seeds`, `out`, `jobs` and `launcher` of `train.py`.

    Raises:
        UserError: Some runs failed; the others are complete.
    """
    suite = suites.load(arguments.suite).part(arguments.columns, arguments.seeds, arguments.rows)
    given = arguments.budget or suite.budget
    budget = budgets.Budget.parse(given) if given else None
    launcher = _launcher(arguments)
    with stoppable("stopped; the same command resumes."):
        failures = Runner(Path(arguments.out or commands.RUNS), budget, launcher).run(suite)
    if failures:
        raise UserError(f"{len(failures)} failed, the other runs are complete: {'; '.join(failures)}.")


def _launcher(arguments):
    if arguments.launcher == "ray":
        from stochlwta_tf.cli.ray_launcher import RayTasks

        return RayTasks(arguments.jobs)
    jobs = arguments.jobs or 1
    return launchers.OneByOne() if jobs == 1 else launchers.Processes(jobs)


class Runner:
    """Runs what is missing from a suite, resumes what was stopped and skips what is complete; a failure does not stop the rest.

    Args:
        out: Folder of the runs; each is in `<name>-seed<seed>` there.
        budget: The `Budget` of each new run; by default its configuration sets the length.
        launcher: What starts commands, as `OneByOne`.
        log: Function that receives each line of progress.

    Example:

    >>> Runner(Path("results/runs"), Budget.parse("10m"), Processes(4)).run(suites.load("table5"))
    """

    def __init__(self, out, budget=None, launcher=None, log=None):
        self._out, self._budget, self._launcher = out, budget, launcher or launchers.OneByOne()
        self._log = log or (lambda line: print(line, flush=True))
        self._active, self._failures = {}, {}

    def run(self, suite):
        """Runs the suite; returns a line for each failure."""
        runs, unknown = runs_of(suite)
        for path in unknown:
            self._log(f"{path}: skipped (no configuration)")
        pairs, lengths = [(run, seed) for run in runs for seed in suite.seeds], {}
        waiting = deque()
        for number, (run, seed) in enumerate(pairs, 1):
            log = self._logger(f"[{number}/{len(pairs)}] ")
            made = SuiteRun(run, seed, self._out, self._budget, lengths, log)
            waiting.append((number, made, made.commands(), log))
        shown = SuiteProgress(len(pairs)) if self._launcher.slots > 1 else NoProgress()
        try:
            with shown:
                while waiting or self._active:
                    while len(self._active) < self._launcher.slots and (one := _first(waiting)):
                        self._go_on(one, None)
                    if self._active and (ended := self._launcher.finished(_LOOK)):
                        job, answer = ended
                        self._go_on(self._active.pop(job), answer)
                    shown.update(len(pairs) - len(waiting) - len(self._active), [one[1] for one in self._active.values()])
        finally:
            self._launcher.stop()
        return [self._failures[number] for number in sorted(self._failures)]

    def _logger(self, prefix):
        return lambda line: self._log(f"{prefix}{line}")

    def _go_on(self, one, answer):
        """Hands a run the answer to its last command, and starts its next one."""
        number, _, missing, log = one
        try:
            self._active[self._launcher.start(missing.send(answer))] = one
        except StopIteration:
            return
        except UserError as error:
            self._failures[number] = str(error).rstrip(".")
            log(f"failed: {self._failures[number]}")


def _first(waiting):
    """Takes the first run that need not wait for another's length; None if there is none."""
    for one in waiting:
        if not one[1].waits:
            waiting.remove(one)
            return one
    return None
