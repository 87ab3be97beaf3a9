"""The picture of an audit: how an accuracy changes from the published code's scoring to the standard one."""

from stochlwta_tf.figures import style, titles

_FULL, _REST = style.BLUE, "#c9d9ec"
# Labels of the rows of each table, by the factor that changes.
_LADDER = {
    None: "as the published code prints it",
    "running mean": "the trained network, published scoring",
    "axis": "each query by its best class",
    "labels": "classes, not file numbers",
    "image replacement": "no query is a support image",
    "class replacement": "no class twice in a task",
    "queries": "more queries: standard",
}
_ALONE = {
    None: "standard, one query a class",
    "axis": "each class by its best query",
    "labels": "file numbers as classes",
    "image replacement": "queries may be support images",
    "class replacement": "classes may come twice",
}


def draw(path, result):
    """Draws the two tables of an audit side by side, one bar per row.

    Args:
        path: The PNG file to write.
        result: What `evaluation/audit.py` writes, a dictionary.
    """
    ladder = [{**row, "label": label(row)} for row in result["ladder"]]
    alone = [{**row, "label": _ALONE[row["factor"]]} for row in result["alone"]]
    with style.figure(path, "png", 2, width=5.2, height=0.42 * len(ladder) + 1.5) as (figure, panels):
        left, right = panels[0]
        _bars(left, ladder, "from the published scoring to the standard one", {0: _REST, len(ladder) - 1: _FULL})
        _bars(right, alone, "each factor alone, in the standard scoring", {0: _FULL})
        for axes in (left, right):
            axes.axvline(100 / result["way"], color=style.INK, linewidth=0.8, linestyle=(0, (2, 2)))
            axes.set_xlabel("accuracy, %  (dotted: chance)")
        style.heading(figure, f"{titles.run(result)}: {result['tasks']} tasks a row, bars with 95 % intervals")


def label(row):
    """A rung's name; the first is the code's printed number only if the training recorded its mean over all evaluations."""
    return _LADDER["running mean" if row["factor"] is None and "evaluations" not in row else row["factor"]]


def _bars(axes, rows, title, colours):
    for i, row in enumerate(rows):
        axes.barh(i, row["accuracy"], xerr=row["ci95"], color=colours.get(i, "#7fa8d6"), ecolor=style.INK, height=0.7)
        change = f"  {row['change']:+.1f}" if "change" in row else ""
        axes.text(row["accuracy"] + (row["ci95"] or 0) + 1, i, f"{row['accuracy']:.1f}{change}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    style.title(axes, title)
    style.grid(axes, "x")
