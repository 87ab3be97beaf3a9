"""The numbers of tables and tests as text, and the heads of a table's columns in words."""

import math

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.figures import titles
from stochlwta_tf.measures import MEASURES, measure_of


def number(value, measure):
    """A value with the decimal places of its measure.

    Example:

    >>> number(54549, "parameters_stored")
    '54,549'
    """
    digits = measure_of(measure).digits
    return f"{value:.{digits}f}" if digits else f"{value:,.0f}"


def signed(value, measure):
    """A difference with its sign."""
    return ("−" if value < 0 else "+") + number(abs(value), measure)


def ours(entry):
    """Our number of an `Entry` with its interval; its median where tasks diverged, its quartiles for a time."""
    value = number(entry.ours, entry.measure)
    if entry.diverged:
        return f"median {value} ({entry.diverged} of {entry.tasks * len(entry.seeds):,} tasks diverged)"
    if entry.low is None:
        return value
    if entry.unit == "ms":
        tasks = f" for {entry.batch} tasks" if entry.batch else ""
        return f"{value} [{number(entry.low, entry.measure)}, {number(entry.high, entry.measure)}]{tasks}"
    return f"{value} ± {number((entry.high - entry.low) / 2, entry.measure)}"


def paired(entry):
    """The difference of an `Entry` from the row that it is compared with, and that row; None where there is none."""
    if entry.paired is None:
        return None
    return f"{signed(entry.paired, entry.measure)} ± {number(entry.paired_ci95, entry.measure)} from {entry.compared_with}"


def of_test(name, found):
    """A test's `Measure` with half of its interval, which has two significant digits at least; its median where tasks diverged.

    Example:

    >>> of_test("mse", Measure(value=0.0123456, ci95=0.00098, unit=""))
    '0.01235 ± 0.00098'
    """
    digits = max(measure_of(name).digits, 1 - math.floor(math.log10(found.ci95)) if 1e-9 < found.ci95 < 1 else 0)
    if found.diverged and found.median is not None:
        return f"median {found.median:.{digits}f} ({found.diverged:,} diverged)"
    return f"{found.value:.{digits}f} ± {found.ci95:.{digits}f}"


def heads(suite):
    """The columns' heads: the task or the measure in words where the label is its name, and else the label.

    Example:

    >>> heads(suites.load("table1"))[0]
    'Omniglot 20-way 1-shot'
    """
    return [_head(suite, column) for column in suite.columns]


def _head(suite, column):
    name, comma, rest = column.label.partition(",")
    measure = measure_of(column.measure or suite.measure)
    if name in MEASURES:
        return MEASURES[name].axis + comma + rest
    if measure.source != "parameters" and (column.task or column.label) != column.label:
        return column.label
    task = next((words for cell in suite.cells() if cell.column is column and (words := _task(cell))), column.label)
    return f"{measure.label}, {task}" if measure.source == "parameters" else task


def _task(cell):
    try:
        return titles.task(cell.load().resolved()["task"])
    except ConfigurationError:
        return None
