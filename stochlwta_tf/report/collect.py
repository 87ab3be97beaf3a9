"""Finds the results of runs under a folder, validates each, and reports those that cannot be used."""

import json
import os
import sys
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

import pydantic
from pydantic import Field

from stochlwta_tf.config import configuration, places
from stochlwta_tf.errors import ConfigurationError, UserError

_Finite = Annotated[float, Field(allow_inf_nan=False)]
_Count = Annotated[int, Field(ge=1)]


class _Part(pydantic.BaseModel):
    """Part of a result's file; other content is ignored."""

    model_config = pydantic.ConfigDict(extra="ignore", strict=True, frozen=True)


class Measure(_Part):
    """A measure: its mean over the test tasks that did not diverge, half the width of its 95 % interval, and the median over all tasks.

    The paper's number in a file is ignored: it is looked up when a report is made.
    """

    value: _Finite
    ci95: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    unit: str
    median: _Finite | None = None
    diverged: Annotated[int, Field(ge=0)] = 0


class Parameters(_Part):
    """Numbers of parameters: those that train, and all that are stored."""

    trainable: _Count
    stored: _Count


class Evaluation(_Part):
    """What the tables read of an `evaluation*.json`."""

    name: str
    measures: Annotated[dict[str, Measure], Field(min_length=1)]
    after_steps: dict[str, dict[str, Measure]] = {}
    tasks: _Count
    protocol: Literal["standard", "paper", "original_code"]
    batch_statistics: Literal["transductive", "support"] | None
    iterations: _Count
    seed: Annotated[int, Field(ge=0)]
    task: dict
    learner: dict
    evaluation: dict
    inner_steps: Annotated[int, Field(ge=0)]
    draws: _Count
    parameters: Parameters
    device: str
    command: str
    data_notes: list[str] = []
    per_task: dict[str, list[_Finite | None]] = {}
    training: dict[str, _Finite] = {}
    noise_std: _Finite | None = None

    def measure(self, name):
        """A `Measure` of the test, or with `mse@10` of the test after 10 inner steps; None if it was not measured."""
        name, _, steps = name.partition("@")
        return (self.after_steps.get(steps, {}) if steps else self.measures).get(name)


class Spread(_Part):
    """Times of one thing, in milliseconds: median and quartiles of `count` measurements, and the time to compile it."""

    median_ms: Annotated[float, Field(gt=0, allow_inf_nan=False)]
    low_ms: _Finite
    high_ms: _Finite
    count: _Count
    compile_seconds: _Finite


class TimingEntry(_Part):
    """The times of one configuration; None where only its parameters were counted."""

    config: dict
    train: Spread | None = None
    predict: Spread | None = None
    parameters: Parameters


class TimingFile(_Part):
    """What the tables read of a `timing*.json`."""

    device: str
    threads: dict
    command: str
    entries: Annotated[list[TimingEntry], Field(min_length=1)]


class ActiveCurve(_Part):
    """A strategy of active learning: the measure before and after each query, and how many tasks had diverged there."""

    value: list[_Finite]
    diverged: list[Annotated[int, Field(ge=0)]] = []


class ActiveFile(_Part):
    """What the figure reads of an `active*.json`: a learner's own strategy first, and random choice."""

    name: str
    protocol: str
    iterations: _Count
    seed: Annotated[int, Field(ge=0)]
    task: dict
    pool: _Count
    evaluation_seed: Annotated[int, Field(ge=0)]
    labelled: Annotated[list[_Count], Field(min_length=1)]
    strategies: dict[str, ActiveCurve]

    @pydantic.model_validator(mode="after")
    def _check(self):
        if "random" not in self.strategies or any(len(curve.value) != len(self.labelled) for curve in self.strategies.values()):
            raise ValueError(f"strategies must have random, and a value for each of {len(self.labelled)} numbers of labels")
        return self


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


def collect(runs):
    """Reads every run folder under a folder, at any depth.

    A run folder holds `config.yaml` and one or more `evaluation*.json`; nothing else of it is needed.

    Args:
        runs: The folder.

    Returns:
        `Collected`.

    Raises:
        UserError: There is no such folder.

    Example:

    >>> collect("results").results
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


def warn(problems):
    """Prints what was skipped, a line each, on standard error."""
    for problem in problems:
        print(f"skipped: {problem}", file=sys.stderr)


def _run(path, folder, configured, evaluations, results, problems):
    if not configured:
        problems.append(f"{folder}: not a run: {evaluations[0]} without a config.yaml.")
        return
    try:
        config = configuration.load(path / "config.yaml")
    except ConfigurationError as error:
        problems.append(f"{folder}: invalid: {str(error).replace(str(path) + os.sep, '')}")
        return
    if not evaluations:
        problems.append(f"{folder}: incomplete: not tested yet (no evaluation.json).")
    for name in evaluations:
        try:
            evaluation = _read(path / name, Evaluation)
        except ValueError as error:
            problems.append(f"{folder}/{name}: corrupted: {error}")
            continue
        of = (evaluation.name, evaluation.seed, evaluation.iterations)
        if of != (config.name, config.seed, config.training.iterations):
            problems.append(f"{folder}/{name}: does not match its config.yaml: it is from {of[0]} with seed {of[1]}, {of[2]} iterations.")
            continue
        try:
            values = {**config.resolved(), "task": evaluation.task, "evaluation": evaluation.evaluation}
            tested = configuration.from_dict(values, where=f"{folder}/{name}")
        except ConfigurationError as error:
            problems.append(f"{str(error).rstrip('.')}, so it is corrupted or from another version.")
            continue
        results.append(Result(folder, path, name, config, tested, evaluation))


def active(path, config):
    """A run's test of active learning, an `ActiveFile`; None if there is none, or, with a line on standard error, if it is invalid.

    Args:
        path: The file.
        config: The `Configuration` of the test.
    """
    if not path.exists():
        return None
    try:
        file = _read(path, ActiveFile)
    except ValueError as error:
        warn([f"{path}: corrupted: {error}"])
        return None
    wanted = {
        **{"name": config.name, "seed": config.seed, "iterations": config.training.iterations, "protocol": config.protocol},
        **{"queries": config.active_learning.queries, "pool": config.active_learning.pool, "evaluation_seed": config.evaluation.seed},
        "task": places.unplaced(config.resolved()["task"]),
    }
    has = {key: getattr(file, key) for key in wanted if key not in ("queries", "task")}
    has |= {"queries": len(file.labelled) - 1, "task": places.unplaced(file.task)}
    if changed := configuration.difference(wanted, has):
        warn([f"{path}: another run or test: expected {changed[0]}={changed[1]}. Received: {changed[0]}={changed[2]}."])
        return None
    return file


def _timing(path, name, timings, problems):
    try:
        file = _read(path, TimingFile)
        timings.extend([Timing(configuration.from_dict(entry.config, "config"), entry, file) for entry in file.entries])
    except (ValueError, ConfigurationError) as error:
        problems.append(f"{name}: corrupted: {error}")


def _read(path, model):
    """A file's model; raises a ValueError with a one-line message."""
    try:
        text = path.read_text(encoding="utf-8")
        json.loads(text)
        return model.model_validate_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON (line {error.lineno}: {error.msg}).") from error
    except RecursionError as error:
        raise ValueError("not a result: nested too deep.") from error
    except pydantic.ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}.") from error
    except OSError as error:
        raise ValueError(f"cannot be read: {error.strerror}.") from error
