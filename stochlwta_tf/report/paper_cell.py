"""The paper's number for a cell of a suite."""

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.report import paper


def reported(cell):
    """The number that the paper prints for a cell, and its standard deviation over seeds; None for either that it does not print.

    The cell's keys lead from `paper.yaml`'s top to a number, to a pair of mean and standard deviation, or to a row of them, of which the
    column's name chooses.

    Example:

        reported(load("table1").cells()[0])  # (90.21, 0.34)
    """
    rows = cell.column.reported_rows
    if rows is not None and cell.row.label not in rows and cell.row.full_label not in rows:
        return None, None
    keys = cell.suite.paper if cell.column.paper is None else cell.column.paper
    own = (cell.row.label,) if cell.row.paper is None else cell.row.paper
    return number((*keys, *own), cell.column.reported or cell.column.label)


def number(keys, column):
    """The same from keys and a column's name."""
    node = paper.results()
    for key in keys:
        node = {str(k): v for k, v in node.items()}.get(key) if isinstance(node, dict) else None
    columns = paper.results().get(keys[0], {}) if keys else {}
    columns = columns.get("columns", []) if isinstance(columns, dict) else []
    if isinstance(node, list) and columns:
        node = node[columns.index(column)] if column in columns else None
    if isinstance(node, list):
        return node[0], node[1]
    return (node if isinstance(node, int | float) else None), None


def literature(suite):
    """The rows that the paper quotes from others: `{label: [number or None for each of the suite's columns]}`."""
    if not suite.literature:
        return {}
    node = paper.results()
    for key in suite.literature:
        if not isinstance(node, dict) or key not in node:
            raise ConfigurationError(f"{suite.file}: the paper has no literature: {list(suite.literature)}. Received: {key}.")
        node = node[key]
    return {label: [number((*suite.literature, label), column.reported or column.label)[0] for column in suite.columns] for label in node}
