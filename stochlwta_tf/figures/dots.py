"""A dot plot of our numbers and the paper's, each with its interval."""

import textwrap

from stochlwta_tf.figures import style


def draw(path, form, rows, title, xlabel, log=False):
    """Draws a row for each method: ours as a filled dot with its interval, the paper's as an open square with its standard deviation.

    Args:
        path, form: As `style.figure`.
        rows: Dictionaries with a `label`, a `method` and, where there are any, `ours` with `low` and `high`, and `paper` with `paper_std`.
        title, xlabel: Of the panel and its axis.
        log: Whether the axis is logarithmic.

    Example:

    >>> draw("dots.svg", "svg", [{"label": "MAML", "method": "MAML", "ours": 47.1, "low": 46.5, "high": 47.7}], "title", "accuracy, %")
    """
    with style.figure(path, form, 1, width=4.0, height=0.3 * len(rows) + 1.15) as (_, panels):
        axes = panels[0, 0]
        for i, row in enumerate(rows):
            axes.axhline(i, color=style.GRID, linewidth=0.6, zorder=0)
            if row.get("paper") is not None:
                error = row.get("paper_std")
                axes.errorbar(row["paper"], i, xerr=error, fmt="s", color=style.INK, markersize=5, mfc="none", elinewidth=1, capsize=2)
            if row.get("ours") is not None:
                low, high = row.get("low"), row.get("high")
                error = None if low is None else [[row["ours"] - low], [high - row["ours"]]]
                axes.errorbar(row["ours"], i, xerr=error, fmt="o", color=style.colour(row["method"]), markersize=6, elinewidth=2, zorder=3)
        axes.plot([], [], "o", color=style.BLUE, label="ours, 95 % interval")
        axes.plot([], [], "s", color=style.INK, mfc="none", label="the paper's, ± σ over seeds" if _spread(rows) else "the paper's")
        axes.set_yticks(range(len(rows)), [_wrapped(row["label"]) for row in rows], fontsize=8)
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_xlabel(xlabel)
        if log:
            style.logarithmic(axes.xaxis)
        style.title(axes, title.replace("$", r"\$"))
        style.grid(axes, "x")
        axes.figure.legend(loc="outside lower center", ncols=2, frameon=False, fontsize=8)


def _wrapped(label):
    return "\n".join(textwrap.wrap(label.replace("$", r"\$"), 26))


def _spread(rows):
    return any(row.get("paper_std") is not None for row in rows)
