"""The paper's figures from results, with the values that can be read off the printed ones."""

import functools

import numpy as np

from stochlwta_tf.config import configuration, suites
from stochlwta_tf.figures import curves, titles
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.report import collect, commands, paper_cell, tables
from stochlwta_tf.report.match import Matcher
from stochlwta_tf.training.records import read

_PERCENT = MEASURES["accuracy"].axis
#: Columns of `metrics.csv` that a training may be drawn over: the axis, and what it is divided by.
_OVER = {
    "iteration": ("meta-iterations (each of the method's own number of tasks)", 1),
    "core_seconds": ("processor time of meta-iterations, minutes", 60),
}


def validation_curves(name, measure, collected, path, form, over="iteration"):
    """Draws the validation score over the training; other arguments as `method_curves`.

    Args:
        measure: `"accuracy"` or `"mse"`.
        over: `"iteration"` or `"core_seconds"`.
    """
    percent = measure == "accuracy"
    axis, unit = _OVER[over]
    labels = axis, f"validation {MEASURES[measure].axis}", percent, "the paper's, at 60,000", 60000
    validation = functools.partial(_validation, measure=measure, over=over, unit=unit)
    whose = (lambda task: f"validation accuracy, {titles.validated(task)}, %") if percent else None
    return method_curves(name, validation, f"val_{measure} in metrics.csv", labels, collected, path, form, whose)


def active_curves(name, collected, path, form):
    """Draws the accuracy by the number of labels asked for, solid by entropy, dashed at random; arguments as `method_curves`."""
    labels = "labels asked for (dashed: at random)", _PERCENT, True, "the paper's, after 25; on what images is not said", 25
    return method_curves(name, _active, "test of active learning", labels, collected, path, form)


def method_curves(name, curve, of, labels, collected, path, form, ylabel=None):
    """Draws curves of runs, one a method, a panel for each task and protocol.

    Args:
        name: The suite's.
        curve: Function of a cell and its `Matched`: a line's entries for `curves.scores`, or None.
        of: What a run without a curve lacks.
        labels: The last arguments of `curves.scores`.
        collected: A `Collected`.
        path: The file to write.
        form: `"png"` or `"svg"`.
        ylabel: Function of the runs' resolved task that gives a panel's label, if it differs from the common one.

    Returns:
        A line for each method without a curve, and for each result that seems to belong here but is not used.
    """
    suite, matcher = suites.load(name), Matcher(collected)
    panels, missing = [], []
    # Further columns of a task are other measures of the same runs, and further tests of a run are of the same training.
    columns = {column.task or column.label: column for column in reversed(suite.columns)}
    for column in reversed(columns.values()):
        cells = [cell for cell in suite.cells() if cell.column is column and not cell.row.test and matcher.expected(cell)]
        groups = [group for group in matcher.groups(cells) if group.protocol == group.trained and _own_tests(matcher, cells, group)]
        for group in groups or [None]:
            lines, drawn = [], []
            for cell in cells:
                line = {"label": cell.row.full_label, "method": cell.row.label, "printed": paper_cell.reported(cell)[0]}
                matched = matcher.matched(cell, group) if group else None
                if found := curve(cell, matched) if matched else None:
                    line |= found
                    drawn += matched.results
                else:
                    missing.append(_missing(cell, group, of if matched else "run", collected.runs))
                lines.append(line)
            if group or any(line["printed"] is not None for line in lines):
                panel = {"title": _title(matcher, cells, group, drawn), "lines": lines}
                panels.append({**panel, "ylabel": ylabel(drawn[0].config.resolved()["task"])} if ylabel and drawn else panel)
    panels = [panel for panel in panels if any("x" in line for line in panel["lines"])] or panels
    curves.scores(path, form, panels, *labels)
    return _said(missing, matcher)


def _own_tests(matcher, cells, group):
    """Whether a run's own test is in the group: curves are the training's, which a further test with other batch statistics is not like."""
    found = [matched for cell in cells if (matched := matcher.matched(cell, group))]
    return any(result.file == "evaluation.json" for matched in found for result in matched.results)


def _validation(cell, matched, measure, over, unit):
    """Mean over seeds of the validation score by what the training is drawn over, and each seed's; None if none was recorded."""
    each, places, column, scale = [], [], f"val_{measure}", 100 if measure == "accuracy" else 1
    for result in matched.results:
        try:
            rows = [row for row in read(result.path / "metrics.csv") if row.get(column) and row.get(over)]
            each.append({int(row["iteration"]): scale * float(row[column]) for row in rows})
            places.append({int(row["iteration"]): float(row[over]) / unit for row in rows})
        except ValueError as error:
            collect.warn([f"{result.folder}/metrics.csv: corrupted: {error}."])
            return None
    shared = sorted(set.intersection(*map(set, each)))
    x, y = ([[seed[i] for i in shared] for seed in values] for values in (places, each))
    return {"x": np.mean(x, 0), "y": np.mean(y, 0), "each": y} if shared else None


def _active(cell, matched):
    """Mean over seeds of the score by the number of queries, and at random unless that is the only strategy."""
    configs = [configuration.load(result.path / "config.yaml", cell.test_assignments) for result in matched.results]
    files = [collect.active(result.path / commands.test_file(cell), config) for result, config in zip(matched.results, configs)]
    if not all(files) or len({(*file.labelled, *file.strategies) for file in files}) > 1:
        return None
    informed = next(iter(files[0].strategies))
    y = {strategy: [file.strategies[strategy].value for file in files] for strategy in (informed, "random")}
    line = {"x": list(range(len(files[0].labelled))), "y": np.mean(y[informed], 0), "each": y[informed]}
    if diverged := max(max((0, *curve.diverged)) for file in files for curve in file.strategies.values()):
        line["label"] = f"{cell.row.full_label} (without up to {diverged} diverged tasks)"
    return line if informed == "random" else {**line, "dashed": np.mean(y["random"], 0)}


def by_setting(name, xlabel, ylabel, collected, path, form, zero=False):
    """Draws a measure by a setting, a panel for each task and protocol; other arguments as `validation_curves` and `curves.settings`."""
    suite, matcher = suites.load(name), Matcher(collected)
    panels, missing = [], []
    for column in suite.columns:
        cells = [cell for cell in suite.cells() if cell.column is column]
        known = [cell for cell in cells if matcher.expected(cell)]
        # Times have no protocol.
        groups = (matcher.groups(known) if column.run else None) or [None]
        for group in groups:
            points, drawn = [], []
            printed = {cell.row.x: number for cell in cells if (number := paper_cell.reported(cell)[0]) is not None}
            for cell in known:
                point = _point(matcher, cell, group)
                if point:
                    points.append((cell.row.x, *point))
                    drawn += matcher.matched(cell, group).results if group else []
                else:
                    missing.append(_missing(cell, group, "run" if column.run else "timing", collected.runs))
            if points or printed:
                panels.append({"title": _title(matcher, cells, group, drawn), "points": points, "printed": printed})
    panels = [panel for panel in panels if panel["points"]] or panels
    curves.settings(path, form, panels, xlabel, ylabel, zero)
    return _said(missing, matcher)


def _point(matcher, cell, group):
    """Our number with the ends of its interval (quartiles, for a time), or None."""
    if cell.measure == "train_ms":
        timing = matcher.timing(cell)
        spread = timing and timing.entry.train
        return spread and (spread.median_ms, spread.low_ms, spread.high_ms)
    matched = matcher.matched(cell, group) if group else None
    if not matched:
        return None
    measures = [result.evaluation.measure(cell.measure) for result in matched.results]
    if not all(measures):
        return None
    mean, half = tables.interval(measures, min(result.evaluation.tasks for result in matched.results))
    return mean, mean - half, mean + half


def _missing(cell, group, what, runs):
    command = commands.run_command(cell, group, runs) if cell.column.run else commands.timing_command(cell.suite, runs)
    return f"missing: {cell.row.full_label}, {cell.column.label}: no {what}: {command}"


def _said(missing, matcher):
    return (*missing, *(f"skipped: {note}" for note in matcher.notes))


def _title(matcher, cells, group, drawn):
    """The task in words and, of what is drawn, the protocol and the batch statistics of those networks that have any."""
    known = [expected[2] for cell in cells if (expected := matcher.expected(cell))]
    task = titles.task(known[0].resolved()["task"]) if known else cells[0].task
    if not cells[0].column.run:
        return task
    if group is None:
        return f"{task}: no runs yet"
    statistics = next((r.evaluation.batch_statistics for r in drawn if r.evaluation.batch_statistics), "no batch normalisation")
    return f"{task}\nprotocol {group.under}, {statistics}"


#: By name, functions of a `Collected`, the file to write and its format (`"png"` or `"svg"`), which return lines for standard error.
#: A further figure is a line here.
FIGURES = {
    "2": functools.partial(validation_curves, "figure2", "accuracy"),
    "3a": functools.partial(by_setting, "figure3a", "tasks in a meta-iteration", _PERCENT),
    "3b": functools.partial(by_setting, "figure3b", "tasks in a meta-iteration", "time of a meta-iteration, ms", zero=True),
    "3c": functools.partial(by_setting, "figure3c", "draws B", _PERCENT),
    "4a": functools.partial(validation_curves, "figure4a", "mse"),
    "4b": functools.partial(validation_curves, "figure4b", "mse"),
    "4c": functools.partial(active_curves, "figure4c"),
    "at_length": functools.partial(validation_curves, "at_length", "accuracy", over="core_seconds"),
}
