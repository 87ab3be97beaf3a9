"""Trains the runs of a suite: `train.py --suite table5 --budget 10m`."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import stochlwta_tf
from stochlwta_tf.cli import budgets as budgets
from stochlwta_tf.cli.exit_status import stoppable
from stochlwta_tf.config import configuration, identity, suites
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.report import collect, commands

_PROGRAMS = {"train.py": "stochlwta_tf.cli.train", "evaluate.py": "stochlwta_tf.cli.evaluate"}


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
        arguments: `suite`, `budget`, `columns`, `seeds` and `out` of `train.py`.

    Raises:
        UserError: Some runs failed; the others are complete.
    """
    suite = suites.load(arguments.suite).part(arguments.columns, arguments.seeds)
    given = arguments.budget or suite.budget
    budget = budgets.Budget.parse(given) if given else None
    with stoppable("stopped; the same command resumes."):
        failures = Runner(Path(arguments.out or commands.RUNS), budget).run(suite)
    if failures:
        raise UserError(f"{len(failures)} failed, the other runs are complete: {'; '.join(failures)}.")


def start_python(arguments):
    """Runs Python in a separate process, so that each run has its own threads and devices, and a crash ends only that run.

    Args:
        arguments: `train.py …` or `evaluate.py …` of this version, or arguments of Python itself.

    Returns:
        Exit status, standard output, standard error.
    """
    if arguments[0] in _PROGRAMS:
        arguments = ["-m", _PROGRAMS[arguments[0]], *arguments[1:]]
    path = os.pathsep.join(filter(None, [str(Path(stochlwta_tf.__file__).parent.parent), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    process = subprocess.run([sys.executable, *arguments], check=False, capture_output=True, env=environment)
    return process.returncode, *(said.decode("utf-8", "replace") for said in (process.stdout, process.stderr))


class Runner:
    """Runs what is missing from a suite, resumes what was stopped and skips what is complete; a failure does not stop the rest.

    Args:
        out: Folder of the runs; each is in `<name>-seed<seed>` there.
        budget: The `Budget` of each new run; by default its configuration sets the length.
        start: As `start_python`.
        log: Function that receives each line of progress.

    Example:

    >>> Runner(Path("results/runs"), Budget.parse("10m")).run(suites.load("table5"))
    """

    def __init__(self, out, budget=None, start=start_python, log=None):
        self._out, self._budget, self._start, self._log = out, budget, start, log or (lambda line: print(line, flush=True))
        self._prefix = ""

    def run(self, suite):
        """Runs the suite; returns a line for each failure."""
        failures = []
        runs, unknown = runs_of(suite)
        for path in unknown:
            self._log(f"{path}: skipped (no configuration)")
        for number, (seed, run) in enumerate([(seed, run) for run in runs for seed in suite.seeds], 1):
            self._prefix = f"[{number}/{len(runs) * len(suite.seeds)}] "
            try:
                self._make(run, seed)
            except UserError as error:
                failures.append(str(error).rstrip("."))
                self._log(f"{self._prefix}failed: {failures[-1]}")
        return failures

    def _folder(self, config, seed):
        return self._out / f"{config.name}-seed{seed}"

    def _make(self, run, seed):
        config = run.cell.load([f"seed={seed}"])
        for cell in run.tests:
            cell.load(cell.test_assignments)  # an invalid further test is reported before hours of training
        folder = self._folder(config, seed)
        has = self._config_in(folder, config)
        if has is None:
            length = self._length(run, config)
            self._say(folder, f"starting {' '.join(length) or f'training.iterations={config.training.iterations}'}")
            own = [f"seed={seed}"] if seed != run.cell.load().seed else []
            self._call(["train.py", "--config", run.cell.config, *_set(*run.cell.assignments, *own, *length), "--out", str(folder)], folder)
        elif self._whole(folder / "evaluation.json", config):
            self._say(folder, f"already complete, training.iterations={has.training.iterations}")
        else:
            self._say(folder, f"resuming, training.iterations={has.training.iterations}")
            self._call(["train.py", "--resume", "--out", str(folder)], folder)
        for cell in run.tests:
            self._test(cell, folder)

    def _config_in(self, folder, config):
        """The configuration of a run in a folder, or None.

        Raises:
            ConfigurationError: It differs from the suite's in more than its length.
        """
        if not (folder / "config.yaml").exists():
            return None
        has = configuration.load(folder / "config.yaml")
        _same(folder, identity.run(config), identity.run(has))
        return has

    def _whole(self, path, config):
        """Whether a complete test of a run's model exists.

        Raises:
            ConfigurationError: It differs from the suite's.
        """
        tests = [result.tested for result in collect.read(path.parent).results if result.file == path.name]
        for tested in tests:
            _same(path, identity.test(config), identity.test(tested))
        return bool(tests)

    def _test(self, cell, folder):
        path = folder / commands.test_file(cell)
        config = configuration.load(folder / "config.yaml", cell.test_assignments)
        if collect.active(path, config) if cell.suite.active else self._whole(path, config):
            return
        if list(cell.row.test) == ["batch_statistics"] and not self._normalises(folder):
            return
        if not (folder / "model.keras").exists():
            raise UserError(f"{path}: needs the trained model, which is missing")
        self._say(folder, f"testing with {' '.join(cell.test_assignments)}")
        self._call(commands.test_command(cell, folder), path)

    def _normalises(self, folder):
        """Whether a tested run's network has batch normalisation, so that a test with other batch statistics is another test."""
        return any(result.evaluation.batch_statistics for result in collect.read(folder).results)

    def _length(self, run, config):
        """The settings for the budget; all seeds of a run have the same length."""
        if self._budget is None:
            return []
        for folder in sorted(self._out.glob(f"{config.name}-seed*")):
            if folder.name.rpartition("seed")[2].isdigit() and (has := self._config_in(folder, config)):
                return [f"training.{key}={getattr(has.training, key)}" for key in ("iterations", "log_every", "validate_every")]
        if self._budget.iterations is None:
            timing = ["-m", "stochlwta_tf.cli.timing", "--rate", "--config", run.cell.config, *_set(*run.cell.assignments)]
            seconds = json.loads(self._call(timing, run.cell.config).splitlines()[-1])["seconds_per_iteration"]
            self._log(f"{self._prefix}{config.name}: {1000 * seconds:.3g} ms an iteration")
            return budgets.assignments(config, self._budget.iterations_at(seconds))
        return budgets.assignments(config, self._budget.iterations)

    def _say(self, folder, what):
        self._log(f"{self._prefix}{folder.name}: {what}")

    def _call(self, arguments, what):
        status, printed, errors = self._start(arguments)
        if status:
            lines = [line for line in errors.splitlines() if line.strip()] or ["nothing was printed"]
            reason = next((line for line in reversed(lines) if line.startswith("error: ")), lines[-1]).removeprefix("error: ")
            raise UserError(f"{what}: exit status {status}: {reason}")
        return printed


def _set(*assignments):
    return ["--set", *assignments] if assignments else []


def _same(path, wanted, has):
    if changed := identity.difference(wanted, has):
        raise ConfigurationError(f"{path} differs from the suite, which has {changed[0]}={changed[1]}. Received: {changed[2]}")
