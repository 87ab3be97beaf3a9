"""The paper's number for a cell of a suite."""

from stochlwta_tf import paper
from stochlwta_tf.errors import ConfigurationError


def reported(cell):
    """The number that the paper prints for a cell, and its standard deviation over seeds; None for either if it is not printed.

    The suite, the column and the row give its keys in `paper.number`.

    Example:

    >>> reported(suites.load("table1").cells()[0])
    (90.21, 0.34)
    """
    rows = cell.column.reported_rows
    if rows is not None and cell.row.label not in rows and cell.row.full_label not in rows:
        return None, None
    keys = cell.suite.paper if cell.column.paper is None else cell.column.paper
    own = (cell.row.label,) if cell.row.paper is None else cell.row.paper
    return paper.number((*keys, *own), _column(cell.column))


def literature(suite):
    """The rows that the paper quotes from others: `{label: [number or None for each of the suite's columns]}`."""
    try:
        return paper.literature(suite.literature, list(map(_column, suite.columns))) if suite.literature else {}
    except (KeyError, TypeError) as error:
        raise ConfigurationError(
            f"{suite.file}: the paper has no literature: {list(suite.literature)}. Received: {error.args[0]}."
        ) from error


def _column(column):
    return column.reported or column.label
