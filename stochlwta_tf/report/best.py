"""The best results of a table's columns, among results that may be compared."""

import itertools
from typing import NamedTuple

_HIGHER, _LOWER = ("accuracy",), ("mse", "nll", "brier", "ece", "train_ms", "predict_ms")
_SAME_TIME = 0.25  # by which the processor times of trainings as long as each other may differ

#: What is marked, in words.
RULE = (
    "the best of our means in a column and those whose intervals overlap with its, where all of the column are trained equally long "
    "(as many iterations, or processor times within 25 %) and tested on as many tasks"
)


class Best(NamedTuple):
    """The best of each column.

    Attributes:
        cells: Pairs of a row's label and a column's, of those that are best.
        withheld: Labels of columns with two or more numbers that may not be compared.
    """

    cells: frozenset
    withheld: tuple


def best(entries):
    """The best cells of one group of a table; `RULE` says which they are.

    A column with one number of ours has none, nor one of which neither more nor less is better, such as a number of parameters.

    Args:
        entries: The `Entry`s of one `Group`, so of one protocol and one kind of batch statistics.

    Example:

    >>> best(tables.fill(suites.load("regression"), collect.read("results")).groups[0][1]).cells
    """
    cells, withheld, columns = set(), [], {}
    for entry in entries:
        if entry.ours is not None and entry.measure.partition("@")[0] in _HIGHER + _LOWER:
            columns.setdefault(entry.column, []).append(entry)
    for column, found in columns.items():
        if len(found) < 2:
            continue
        if not all(_comparable(*pair) for pair in itertools.combinations(found, 2)):
            withheld.append(column)
            continue
        sign = 1 if found[0].measure in _HIGHER else -1
        first = max(found, key=lambda entry: sign * entry.ours)
        cells |= {(entry.label, column) for entry in found if entry is first or _overlap(entry, first)}
    return Best(frozenset(cells), tuple(withheld))


def _comparable(a, b):
    times = (a.core_seconds, b.core_seconds)
    as_long = a.iterations == b.iterations or None not in times and max(times) <= (1 + _SAME_TIME) * min(times)
    return as_long and a.tasks == b.tasks and not (a.diverged or b.diverged)


def _overlap(a, b):
    return None not in (a.low, b.low) and a.low <= b.high and b.low <= a.high
