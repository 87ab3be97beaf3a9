"""The paper's tables from results: our numbers and the printed ones, cell by cell."""

from typing import NamedTuple

from stochlwta_tf import intervals
from stochlwta_tf.config import suites
from stochlwta_tf.measures import measure_of
from stochlwta_tf.report import commands, paper_cell
from stochlwta_tf.report.match import Group, Matcher, mean_and_std

_SPLITS = {
    "standard": "Protocol `standard` has other test classes than the paper's own splits, so differences include that of the splits.",
    "original_code": "Protocol `original_code` scores as the published code does, which is not the standard accuracy.",
}


class Entry(NamedTuple):
    """A cell of a table.

    Attributes:
        row, variant, label, column, measure, unit: Which cell; the label combines row and variant.
        ours: Mean over seeds of the means over test tasks, or, where tasks diverged, of the medians; or a median time, a count.
        low, high: Its 95 % interval over seeds and tasks together (`intervals.over_seeds_and_tasks`), or a time's quartiles.
        diverged: How many tasks diverged, over all seeds.
        batch: For a time: tasks in a meta-iteration.
        seed_std: Standard deviation over seeds, if there are two or more.
        compared_with: Label of the row that this one is compared with.
        paired, paired_ci95: Mean difference from that row on the same tasks, and half of its 95 % interval; None where either is missing.
        seeds, iterations, tasks, device: Those of the runs.
        core_seconds: Mean over seeds of the processor time of the training, if it is recorded.
        paper, paper_std: As printed.
        made_by: The command that produced our number.
        fill_by: For a missing cell, the command that fills it.
        lacking: For a missing cell with runs, the folders of those without the measure.
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
    compared_with: str | None = None
    paired: float | None = None
    paired_ci95: float | None = None
    seeds: tuple = ()
    iterations: int | None = None
    tasks: int | None = None
    core_seconds: float | None = None
    device: str | None = None
    paper: float | None = None
    paper_std: float | None = None
    made_by: str | None = None
    fill_by: str | None = None
    lacking: tuple = ()
    unknown: str | None = None

    @property
    def difference(self):
        """Ours minus the paper's; None if ours is a median, because the paper's is a mean."""
        return None if self.ours is None or self.paper is None or self.diverged else self.ours - self.paper


class Table(NamedTuple):
    """A table: the cells of each group of results.

    Attributes:
        suite: The `Suite` that lays it out.
        literature: Rows that the paper quotes, `{label: [number or None]}`.
        groups: Pairs of `Group` and its `Entry`s; one group without numbers of ours if there are no runs.
        notes: A line for each result that seems to belong to the table but is not in it.
    """

    suite: suites.Suite
    literature: dict
    groups: tuple
    notes: tuple

    @property
    def filled(self):
        """Of each cell, whether it has a number of ours."""
        return [entry.ours is not None for _, entries in self.groups for entry in entries]

    @property
    def command(self):
        """What makes all its runs."""
        return f"python train.py --suite {self.suite.file} --budget {self.suite.budget or '10m'}"


def fill(suite, collected):
    """Fills a suite's cells with collected results.

    Args:
        suite: A `Suite`.
        collected: A `Collected`.

    Returns:
        A `Table`.

    Example:

    >>> fill(suites.load("table5"), collect.read("results"))
    """
    matcher, cells = Matcher(collected), suite.cells()
    groups = matcher.groups(cells) or [None]
    filled = tuple((group, tuple(_entry(matcher, cell, group, collected.runs) for cell in cells)) for group in groups)
    return Table(suite, paper_cell.literature(suite), filled, tuple(matcher.notes))


def _entry(matcher, cell, group, runs):
    printed, printed_std = paper_cell.reported(cell)
    measure = measure_of(cell.measure)
    of_cell = cell.row.label, cell.row.variant, cell.row.full_label, cell.column.label, cell.measure
    entry = Entry(*of_cell, paper=printed, paper_std=printed_std, compared_with=cell.row.compared_with)
    if (expected := matcher.expected(cell)) is None:
        return entry._replace(unknown=cell.config)
    matched, timing = matcher.matched(cell, group) if group else None, matcher.timing(cell)
    if measure.source == "timing" and timing and (spread := getattr(timing.entry, measure.key)):
        return _timed(entry, timing, spread)._replace(batch=timing.config.training.meta_batch_size if measure.key == "train" else None)
    if measure.source == "parameters" and (matched or (counted := matcher.counted(cell))):
        of = (matched.results[0].evaluation if matched else counted.entry).parameters
        made_by = matched.results[0].command if matched else counted.file.command
        return entry._replace(ours=getattr(of, measure.key), made_by=made_by)
    if measure.source == "training" and matched:
        value = getattr(matched, measure.key)
        lacking = tuple(result.folder for result in matched.results) if value is None else ()
        return _with_runs(entry, matched)._replace(ours=value, lacking=lacking)
    if matched and all(result.evaluation.measure(cell.measure) for result in matched.results):
        return _paired(_measured(entry, matched), matcher.compared(cell, matched, group))
    if matched and cell.column.run:
        return entry._replace(lacking=tuple(r.folder for r in matched.results if not r.evaluation.measure(cell.measure)))
    timed = measure.source == "timing" or not cell.column.run
    return entry._replace(
        fill_by=commands.timing_command(cell.suite, runs) if timed else commands.run_command(cell, group, runs, expected[2])
    )


def _with_runs(entry, matched):
    first = matched.results[0].evaluation
    tasks = min(result.evaluation.tasks for result in matched.results)
    return entry._replace(
        seeds=tuple(matched.seeds),
        iterations=matched.iterations,
        tasks=tasks,
        core_seconds=matched.core_seconds,
        device=first.device,
        made_by=matched.results[0].command,
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


def _paired(entry, differences):
    """The entry with its difference from another row: over seeds, of pairs of a mean and half of its interval."""
    if not differences:
        return entry
    mean, half = intervals.over_seeds_and_tasks(*zip(*differences, strict=True), entry.tasks)
    return entry._replace(paired=mean, paired_ci95=half)


def interval(measures, tasks):
    """Mean over seeds of a `Measure`, and half the width of its 95 % interval over seeds and tasks together."""
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


def title(group, suite):
    """A group's heading."""
    return group.title if isinstance(group, Group) else f"{suite.title.partition(':')[0]}: no tested runs yet"


def splits(group, entries):
    """The remark on splits if the paper's accuracies are compared with ours, as a list of none or one."""
    compared = any(entry.measure == "accuracy" and None not in (entry.ours, entry.paper) for entry in entries)
    return [_SPLITS[group.protocol]] if group and compared and group.protocol in _SPLITS else []
