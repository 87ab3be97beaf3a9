"""One run of a suite with one seed: which commands it still needs."""

import json

from stochlwta_tf.cli import budgets
from stochlwta_tf.config import configuration, identity
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.report import collect, commands


class SuiteRun:
    """One run of a suite with one seed: trained, resumed or complete, with its further tests.

    Args:
        run: The suite's `Run`.
        seed: The seed.
        out: Folder of the runs.
        budget: The `Budget` of a new run, or None.
        lengths: Dictionary that all runs share, of what a budget came to: all seeds of a run have the same length.
        log: Function that receives each line of progress.

    Attributes:
        folder: The run's folder, once `commands` has begun.
        iterations: Length of the training, likewise.
    """

    def __init__(self, run, seed, out, budget, lengths, log):
        self._run, self._seed, self._out, self._budget, self._lengths, self._log = run, seed, out, budget, lengths, log
        self._key = (run.cell.config, *run.cell.assignments)
        self.folder = self.iterations = None

    @property
    def waits(self):
        """Whether another seed of the run is being measured, whose length this one takes."""
        return self._lengths.get(self._key, ()) is None

    def commands(self):
        """Yields the arguments of each command that is missing, and is sent its exit status, standard output and standard error.

        Raises:
            UserError: One has failed, or the folder has another run.
        """
        cell = self._run.cell
        config = cell.load([f"seed={self._seed}"])
        for test in self._run.tests:
            test.load(test.test_assignments)  # an invalid further test is reported before hours of training
        self.folder = folder = self._out / f"{config.name}-seed{self._seed}"
        has = self._config_in(folder, config)
        if has is None:
            length = yield from self._length(config)
            own = [f"seed={self._seed}"] if self._seed != cell.load().seed else []
            self.iterations = cell.load([*own, *length]).training.iterations
            self._say(f"starting {' '.join(length) or f'training.iterations={config.training.iterations}'}")
            settings = _set(*cell.assignments, *own, *length)
            yield from _call(["train.py", "--config", cell.config, *settings, "--out", str(folder)], folder)
        else:
            self.iterations = has.training.iterations
            if self._whole(folder / "evaluation.json", config):
                self._say(f"already complete, training.iterations={has.training.iterations}")
            else:
                self._say(f"resuming, training.iterations={has.training.iterations}")
                yield from _call(["train.py", "--resume", "--out", str(folder)], folder)
        for test in self._run.tests:
            yield from self._test(test)

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

    def _test(self, cell):
        path = self.folder / commands.test_file(cell)
        config = configuration.load(self.folder / "config.yaml", cell.test_assignments)
        if collect.active(path, config) if cell.suite.active else self._whole(path, config):
            return
        if list(cell.row.test) == ["batch_statistics"] and not self._normalises():
            return
        if not (self.folder / "model.keras").exists():
            raise UserError(f"{path}: needs the trained model, which is missing")
        self._say(f"testing with {' '.join(cell.test_assignments)}")
        yield from _call(commands.test_command(cell, self.folder), path)

    def _normalises(self):
        """Whether a tested run's network has batch normalisation, so that a test with other batch statistics is another test."""
        return any(result.evaluation.batch_statistics for result in collect.read(self.folder).results)

    def _length(self, config):
        """The settings for the budget; all seeds of a run have the same length."""
        if self._budget is None:
            return []
        for folder in sorted(self._out.glob(f"{config.name}-seed*")):
            if folder.name.rpartition("seed")[2].isdigit() and (has := self._config_in(folder, config)):
                return [f"training.{key}={getattr(has.training, key)}" for key in ("iterations", "log_every", "validate_every")]
        if self._budget.iterations is not None:
            return budgets.assignments(config, self._budget.iterations)
        if self._key not in self._lengths:
            self._lengths[self._key] = None
            try:
                self._lengths[self._key] = yield from self._measured(config)
            finally:
                if self._lengths[self._key] is None:
                    del self._lengths[self._key]
        return self._lengths[self._key]

    def _measured(self, config):
        cell = self._run.cell
        timing = ["-m", "stochlwta_tf.cli.timing", "--rate", "--config", cell.config, *_set(*cell.assignments)]
        printed = yield from _call(timing, cell.config)
        seconds = json.loads(printed.splitlines()[-1])["seconds_per_iteration"]
        self._log(f"{config.name}: {1000 * seconds:.3g} ms an iteration")
        return budgets.assignments(config, self._budget.iterations_at(seconds))

    def _say(self, what):
        self._log(f"{self.folder.name}: {what}")


def _call(arguments, what):
    """Yields a command and returns what it printed.

    Raises:
        UserError: It failed.
    """
    status, printed, errors = yield arguments
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
