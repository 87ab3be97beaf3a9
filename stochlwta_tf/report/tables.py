"""The paper's tables from results: ours beside the printed numbers, cell by cell."""

import shlex
from pathlib import Path
from typing import NamedTuple

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.experiment import config as configuration
from stochlwta_tf.experiment import intervals, suite_file
from stochlwta_tf.report import match, paper_cell
from stochlwta_tf.report.match import Group, Matcher, mean_and_std

RUNS = "results/runs"  # where suites put their runs
_TIMES = {"train_ms": "train", "predict_ms": "predict"}
_PARAMETERS = {"parameters_trainable": "trainable", "parameters_stored": "stored"}


class Entry(NamedTuple):
    """A cell of a table.

    Attributes:
        row, variant, label, column, measure, unit: Which cell; the label is of row and variant.
        ours: Mean over seeds of the means over test tasks, or, where tasks diverged, of the medians; or a median time, a count.
        low, high: Its 95 % interval over seeds and tasks together (`intervals.over_seeds_and_tasks`), or a time's quartiles.
        diverged: How many tasks diverged, of those of all seeds.
        batch: Tasks of a meta-iteration, of its time.
        seed_std: Standard deviation over seeds, where there are two or more.
        seeds, iterations, tasks, device: Of the runs.
        paper, paper_std: As printed.
        made_by: The command that made our number.
        fill_by: For a missing cell the command that fills it.
        lacking: For a missing cell whose runs are there, the folders of those without the measure.
        unknown: For a cell without a configuration in this version, the configuration's name.
    """

    row: str
    variant: str | None
    label: str
    column: str
    measure: str
    unit: str = ""
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    diverged: int = 0
    batch: int | None = None
    seed_std: float | None = None
    seeds: tuple = ()
    iterations: int | None = None
    tasks: int | None = None
    device: str | None = None
    paper: float | None = None
    paper_std: float | None = None
    made_by: str | None = None
    fill_by: str | None = None
    lacking: tuple = ()
    unknown: str | None = None

    @property
    def difference(self):
        """Ours less the paper's; None where ours is a median, as the paper's is a mean."""
        return None if self.ours is None or self.paper is None or self.diverged else self.ours - self.paper


class Table(NamedTuple):
    """A table: what each group of results has in its cells.

    Attributes:
        suite: The `Suite` that lays it out.
        literature: Rows that the paper quotes, `{label: [number or None]}`.
        groups: Pairs of `Group` and its `Entry`s; one group with no number of ours where there are no runs.
        notes: A line for each result that seems meant for the table and is not in it.
    """

    suite: suite_file.Suite
    literature: dict
    groups: tuple
    notes: tuple


def table(suite, collected):
    """Fills a suite's cells with what was collected.

    Args:
        suite: A `Suite`.
        collected: A `Collected`.

    Returns:
        A `Table`.

    Example:

        table(suite_file.load("table5"), collect("results"))
    """
    matcher, cells = Matcher(collected), suite.cells()
    groups = matcher.groups(cells) or [None]
    filled = tuple((group, tuple(_entry(matcher, cell, group, collected.runs) for cell in cells)) for group in groups)
    return Table(suite, paper_cell.literature(suite), filled, tuple(matcher.notes))


def _entry(matcher, cell, group, runs):
    printed, printed_std = paper_cell.reported(cell)
    entry = Entry(
        cell.row.label, cell.row.variant, cell.row.full_label, cell.column.label, cell.measure, paper=printed, paper_std=printed_std
    )
    if matcher.expected(cell) is None:
        return entry._replace(unknown=cell.config)
    matched, timing = matcher.matched(cell, group) if group else None, matcher.timing(cell)
    if cell.measure in _TIMES and timing and (spread := getattr(timing.entry, _TIMES[cell.measure])):
        batch = timing.config.training.batch if cell.measure == "train_ms" else None
        return _timed(entry, timing, spread)._replace(batch=batch)
    if cell.measure in _PARAMETERS and (matched or (counted := matcher.counted(cell))):
        of = (matched.results[0].evaluation if matched else counted.entry).parameters
        made_by = matched.results[0].evaluation.command if matched else counted.file.command
        return entry._replace(ours=getattr(of, _PARAMETERS[cell.measure]), made_by=made_by)
    if matched and cell.measure == "iterations":
        return _with_runs(entry, matched)._replace(ours=matched.iterations)
    if matched and all(result.evaluation.measure(cell.measure) for result in matched.results):
        return _measured(entry, matched)
    if matched and cell.column.run:
        return entry._replace(lacking=tuple(r.folder for r in matched.results if not r.evaluation.measure(cell.measure)))
    timed = cell.measure in _TIMES or not cell.column.run
    return entry._replace(fill_by=timing_command(cell.suite, runs) if timed else run_command(cell, group, runs))


def _with_runs(entry, matched):
    first = matched.results[0].evaluation
    tasks = min(result.evaluation.tasks for result in matched.results)
    return entry._replace(
        seeds=tuple(matched.seeds), iterations=matched.iterations, tasks=tasks, device=first.device, made_by=first.command
    )


def _measured(entry, matched):
    measures = [result.evaluation.measure(entry.measure) for result in matched.results]
    entry = _with_runs(entry, matched)._replace(unit=measures[0].unit)
    if (diverged := sum(m.diverged for m in measures)) and all(m.median is not None for m in measures):
        median, std = mean_and_std([m.median for m in measures])
        return entry._replace(ours=median, seed_std=std, diverged=diverged)
    std = mean_and_std([m.value for m in measures])[1]
    mean, half = interval(measures, entry.tasks)
    return entry._replace(ours=mean, low=mean - half, high=mean + half, seed_std=std)


def interval(measures, tasks):
    """Mean over seeds of a `Measure`, and half of its 95 % interval over seeds and tasks together."""
    return intervals.over_seeds_and_tasks([m.value for m in measures], [m.ci95 for m in measures], tasks)


def _timed(entry, timing, spread):
    return entry._replace(
        ours=spread.median_ms,
        low=spread.low_ms,
        high=spread.high_ms,
        unit="ms",
        device=f"{timing.file.device}, threads: {', '.join(f'{k} {v}' for k, v in sorted(timing.file.threads.items()))}",
        made_by=timing.file.command,
    )


def run_command(cell, group, runs):
    """The command line that fills a cell of a group by its first seed, from what its folder has already.

    Args:
        cell: A `Cell` whose configuration is in this version.
        group: The `Group`, or None for the configuration's own.
        runs: The folder of all runs.
    """
    config, seed = cell.load(), cell.suite.seeds[0]
    own = {"task.protocol": config.protocol, "learner.batch_statistics": config.learner.batch_statistics}
    wanted = {"task.protocol": group.trained, "learner.batch_statistics": group.statistics} if group else {}
    other = {key: value for key, value in wanted.items() if value not in (None, own[key])}
    more = [*([f"seed={seed}"] if seed else []), *(f"{key}={value}" for key, value in other.items())]
    assignments = [*cell.assignments, *more]
    results, place = Path(RUNS).parts  # suites put runs in a folder of their own in `results`
    folder = (runs / place if runs.name == results else runs) / "-".join([config.name, f"seed{seed}", *other.values()])
    if not _holds(folder, cell.load(more)):
        folder = folder.with_name(f"{folder.name}-2")
    test = ["evaluate.py", "--run", str(folder)]
    if (folder / "model.keras").exists():
        steps = []
    elif (folder / "config.yaml").exists():
        steps = [["train.py", "--resume", "--out", str(folder)]]
    else:
        steps = [["train.py", "--config", cell.config, *(["--set", *assignments] if assignments else []), "--out", str(folder)]]
    if cell.test_assignments:
        steps.append(test_command(cell, folder))
    elif group and group.protocol != group.trained:
        steps.append([*test, "--protocol", group.protocol])
    return " && ".join(shlex.join(["python", *step]) for step in steps or [test])


def _holds(folder, config):
    """Whether a folder is free for a run of a configuration, or has one begun."""
    if not (folder / "config.yaml").exists():
        return True
    try:
        return match.run(configuration.load(folder / "config.yaml")) == match.run(config)
    except ConfigurationError:
        return False


def test_command(cell, folder):
    """The arguments of Python that test a cell's trained run otherwise."""
    active = ["--active"] if cell.suite.active else []
    return ["evaluate.py", "--run", str(folder), *active, "--set", *cell.test_assignments, "--out", f"{folder}/{test_file(cell)}"]


def test_file(cell):
    """Name of the file of a cell's result in its run's folder."""
    if cell.suite.active:
        return f"active-{cell.suite.file}.json"
    return f"evaluation-{'-'.join(f'{key}{value}' for key, value in cell.row.test.items())}.json" if cell.row.test else "evaluation.json"


def timing_command(suite, runs):
    """The command line that times all of a suite's configurations."""
    return f"python -m stochlwta_tf.experiment.timing --suite {suite.file} --out {shlex.quote(str(runs / f'timing-{suite.file}.json'))}"


def title(group, suite):
    """A group's heading."""
    return group.title if isinstance(group, Group) else f"{suite.title.partition(':')[0]}: no tested runs yet"
