"""The picture of an audit: how an accuracy changes from the published code's scoring to the standard one."""

import matplotlib
from matplotlib.figure import Figure

_FULL, _REST, _INK, _GRID = "#2a6fbb", "#c9d9ec", "#444444", "#e6e6e6"
_PUBLISHED = "as the published code"


def draw(path, result):
    """Draws the two tables of an audit beside each other, a bar a row.

    Args:
        path: The PNG file to write.
        result: What `experiment/audit.py` writes, a dictionary.
    """
    ladder = [{**row, "label": f"{row['factor']} undone" if row["factor"] else _PUBLISHED} for row in result["ladder"]]
    alone = [{**row, "label": f"with {row['factor']}" if row["factor"] else "standard,\none query a class"} for row in result["alone"]]
    with matplotlib.rc_context({"font.size": 9, "font.family": "sans-serif", "axes.edgecolor": _INK, "text.color": _INK}):
        figure = Figure(figsize=(9.2, 0.42 * len(ladder) + 1.5), dpi=160, layout="constrained")
        left, right = figure.subplots(1, 2)
        _bars(left, ladder, "from the published code's scoring to the standard one", {0: _REST, len(ladder) - 1: _FULL})
        _bars(right, alone, "each factor alone, put into the standard scoring", {0: _FULL})
        for axes in (left, right):
            axes.axvline(100 / result["way"], color=_INK, linewidth=0.8, linestyle=(0, (2, 2)))
            axes.set_xlabel("accuracy, %  (dotted: chance)")
        what = f"{result['way']}-way {result['shot']}-shot, {result['tasks']} tasks a row, bars with 95 % intervals"
        figure.suptitle(f"{result['name']}: {what}", fontsize=10, x=0.01, ha="left")
        figure.savefig(path, format="png")


def _bars(axes, rows, title, colours):
    for i, row in enumerate(rows):
        axes.barh(i, row["accuracy"], xerr=row["ci95"], color=colours.get(i, "#7fa8d6"), ecolor=_INK, height=0.7)
        change = f"  {row['change']:+.1f}" if "change" in row else ""
        axes.text(row["accuracy"] + (row["ci95"] or 0) + 1, i, f"{row['accuracy']:.1f}{change}", va="center", fontsize=8)
    axes.set_yticks(range(len(rows)), [row["label"] for row in rows])
    axes.invert_yaxis()
    axes.set_xlim(0, 112)
    axes.set_title(title, fontsize=9, loc="left")
    axes.set_axisbelow(True)
    axes.grid(axis="x", color=_GRID, linewidth=0.6)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=_INK, length=0)
