"""Finds the results of runs under a folder, validates each, and reports those that cannot be used."""

import contextlib
import json
import os
import sys
from pathlib import Path
from typing import NamedTuple

from stochlwta_tf.config import configuration, identity, places
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.report import result_files
from stochlwta_tf.report.result_files import ActiveFile, Evaluation, TimingEntry, TimingFile

#: Folders of results that this version would not reproduce: they are shown, and fill no cell.
EARLIER = ("audit", "earlier")


class Result(NamedTuple):
    """A checked result.

    Attributes:
        folder: The run's folder, as it is named under the folder of all runs.
        path: The run's folder.
        file: The result's file name.
        config: The run's `Configuration`.
        tested: The `Configuration` of its test, with this version's defaults for what the file lacks.
        evaluation: Its `Evaluation`.
    """

    folder: str
    path: Path
    file: str
    config: configuration.Configuration
    tested: configuration.Configuration
    evaluation: Evaluation

    @property
    def earlier(self):
        """Whether it is of an earlier version."""
        return Path(self.folder).parts[0] in EARLIER

    @property
    def command(self):
        """The command that makes it; of a run that was resumed, that of its first start."""
        said = self.evaluation.command
        if said.split()[1:2] != ["--resume"]:
            return said
        with contextlib.suppress(OSError, ValueError, LookupError, TypeError, RecursionError):  # a file by hand
            return str(json.loads((self.path / "environment.json").read_text(encoding="utf-8"))[0]["command"])
        return said


class Timing(NamedTuple):
    """A checked timing of one configuration, and the file's device and threads."""

    config: configuration.Configuration
    entry: TimingEntry
    file: TimingFile


class Collected(NamedTuple):
    """All that was found.

    Attributes:
        runs: The folder that was read.
        results: `Result`s, sorted by folder and file.
        timings: `Timing`s, sorted by file.
        problems: A line for each folder or file that was skipped.
    """

    runs: Path
    results: tuple
    timings: tuple
    problems: tuple


def read(runs):
    """Reads every run folder under a folder, at any depth.

    A run folder holds `config.yaml` and one or more `evaluation*.json`; nothing else of it is needed.

    Args:
        runs: The folder.

    Returns:
        `Collected`.

    Raises:
        UserError: There is no such folder.

    Example:

    >>> read("results").results
    """
    runs = Path(runs)
    if not runs.is_dir():
        raise UserError(f"--runs must be a folder of runs. Received: {runs}.")
    results, timings, problems = [], [], []
    for path, folders, files in os.walk(runs):
        folders[:] = sorted(folder for folder in folders if not folder.startswith("."))
        path = Path(path)
        evaluations = sorted(name for name in files if name.startswith("evaluation") and name.endswith(".json"))
        if "config.yaml" in files or evaluations:
            before = len(results)
            _run(path, str(path.relative_to(runs)), "config.yaml" in files, evaluations, results, problems)
            if len(results) > before:
                folders[:] = []  # deeper folders belong to the run
        for name in sorted(files):
            if name.startswith("timing") and name.endswith(".json"):
                _timing(path / name, str((path / name).relative_to(runs)), timings, problems)
    return Collected(runs, tuple(results), tuple(timings), tuple(problems))


def read_run(path):
    """One run's configuration, its results, and a line for each file that cannot be used.

    Args:
        path: The folder.

    Returns:
        A `Configuration`, a list of `Result`s, its own test's first, and a list of lines.

    Raises:
        ConfigurationError: It is no run, or its `config.yaml` is invalid.

    Example:

    >>> read_run("results/runs/omniglot_5w1s_reptile-seed0")[1][0].evaluation.iterations
    """
    path, results, problems = Path(path), [], []
    if not os.path.isfile(path / "config.yaml"):
        raise ConfigurationError(f"{path} is not a run: it has no config.yaml.")
    config = configuration.load(path / "config.yaml", silent=True)
    evaluations = sorted((file.name for file in path.glob("evaluation*.json")), key=lambda name: (name != "evaluation.json", name))
    if evaluations:
        _run(path, path.name, True, evaluations, results, problems)
    return config, results, problems


def warn(problems):
    """Prints what was skipped, a line each, on standard error."""
    for problem in problems:
        print(f"skipped: {problem}", file=sys.stderr)


def _run(path, folder, configured, evaluations, results, problems):
    if not configured:
        problems.append(f"{folder}: not a run: {evaluations[0]} without a config.yaml.")
        return
    try:
        config = configuration.load(path / "config.yaml", silent=True)
    except ConfigurationError as error:
        problems.append(f"{folder}: invalid: {str(error).replace(str(path) + os.sep, '')}")
        return
    if not evaluations:
        problems.append(f"{folder}: incomplete: not tested yet (no evaluation.json).")
    for name in evaluations:
        try:
            evaluation = result_files.read(path / name, Evaluation)
        except ValueError as error:
            problems.append(f"{folder}/{name}: corrupted: {error}")
            continue
        of = (evaluation.name, evaluation.seed, evaluation.iterations)
        if of[:2] != (config.name, config.seed) or not _may_have_ended(config, evaluation.iterations):
            problems.append(f"{folder}/{name}: does not match its config.yaml: it is from {of[0]} with seed {of[1]}, {of[2]} iterations.")
            continue
        try:
            values = {**config.resolved(), "task": evaluation.task, "evaluation": evaluation.evaluation}
            tested = configuration.from_dict(values, f"{folder}/{name}", silent=True)
        except ConfigurationError as error:
            problems.append(f"{str(error).rstrip('.')}, so it is corrupted or from another version.")
            continue
        results.append(Result(folder, path, name, config, tested, evaluation))


def _may_have_ended(config, iterations):
    """Whether the training of a configuration may end after a number of iterations."""
    length = config.training.iterations
    return iterations == length or (config.training.patience is not None and iterations < length)


def active(path, config):
    """A run's test of active learning, an `ActiveFile`; None if there is none, or, with a line on standard error, if it is invalid.

    Args:
        path: The file.
        config: The `Configuration` of the test.
    """
    if not path.exists():
        return None
    try:
        file = result_files.read(path, ActiveFile)
        task = configuration.from_dict({**config.resolved(), "task": file.task}, "task", silent=True).resolved()["task"]
    except (ValueError, ConfigurationError) as error:
        warn([f"{path}: corrupted: {error}"])
        return None
    wanted = {
        **{"name": config.name, "seed": config.seed, "protocol": config.protocol},
        "iterations": file.iterations if _may_have_ended(config, file.iterations) else config.training.iterations,
        **{"queries": config.active_learning.queries, "pool": config.active_learning.pool, "evaluation_seed": config.evaluation.seed},
        "task": places.unplaced(config.resolved()["task"]),
    }
    has = {key: getattr(file, key) for key in wanted if key not in ("queries", "task")}
    has |= {"queries": len(file.labelled) - 1, "task": places.unplaced(task)}
    if changed := identity.difference(wanted, has):
        warn([f"{path}: another run or test: expected {changed[0]}={changed[1]}. Received: {changed[0]}={changed[2]}."])
        return None
    return file


def _timing(path, name, timings, problems):
    try:
        file = result_files.read(path, TimingFile)
        timings.extend([Timing(configuration.from_dict(entry.config, "config", silent=True), entry, file) for entry in file.entries])
    except (ValueError, ConfigurationError) as error:
        problems.append(f"{name}: corrupted: {error}")
