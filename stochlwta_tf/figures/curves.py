"""Drawings of curves: scores over a training, and a measure by a setting, with the paper's."""

from stochlwta_tf.figures import style

_PAPER = "#b0651d"


def scores(path, form, panels, xlabel, ylabel, percent, mark, end):
    """Draws a score over iterations or queries, one curve per method; a mark at the right edge is the paper's final value.

    Args:
        path, form: As `style.figure`.
        panels: Dictionaries with a `title`, `lines` and, if it differs from the figure's, a `ylabel`; a line has a `label`, a `method`,
            `printed` (a number or None) and, if there are runs, `x`, `y`, the curves `each` of its seeds, and `dashed`, a curve to
            compare with.  A method's second line is dash-dotted.
        xlabel, ylabel: Of the axes.
        percent: Whether the score is from 0 to 100; otherwise the axis is logarithmic.
        mark: Legend of the marks.
        end: Where the marks are; the axis ends there if there is no run.
    """
    with style.figure(path, form, len(panels), height=4.4) as (figure, grid):
        for axes, panel in zip(grid.flat, panels, strict=True):
            for i, line in enumerate(panel["lines"]):
                colour = style.colour(line["method"])
                first = line["method"] not in [earlier["method"] for earlier in panel["lines"][:i]]
                for each in line.get("each", ()) if len(line.get("each", ())) > 1 else ():
                    axes.plot(line["x"], each, color=colour, alpha=0.3, linewidth=0.8)
                x, y = line.get("x", []), line.get("y", [])
                kind = "o" if len(x) == 1 else "-" if first else "-."
                axes.plot(x, y, kind, color=colour, linewidth=1.8, markersize=4, label=line["label"])
                if "dashed" in line:
                    axes.plot(line["x"], line["dashed"], "--", color=colour, linewidth=1)
                if line["printed"] is not None:
                    axes.plot(
                        [1.0], [line["printed"]], "<", transform=axes.get_yaxis_transform(), color=colour, markersize=7, clip_on=False
                    )
            if any(line["printed"] is not None for each in panels for line in each["lines"]):
                axes.plot([], [], "<", color=style.INK, label=mark)
            axes.set(
                xlabel=xlabel, ylabel=panel.get("ylabel", ylabel), xlim=(0, None if any("x" in line for line in panel["lines"]) else end)
            )
            if percent:
                axes.set_ylim(0, 100)
            else:
                style.logarithmic(axes.yaxis)
            style.title(axes, panel["title"])
            style.grid(axes)
        handles, labels = grid[0, 0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=2 * len(panels), frameon=False, fontsize=8)


def settings(path, form, panels, xlabel, ylabel, zero=False):
    """Draws a measure by a setting, ours with its intervals and the paper's, in panels side by side.

    Args:
        path, form: As `style.figure`.
        panels: Dictionaries with a `title`, `points` (x, y, low, high) and `printed`, `{x: number}`.
        xlabel, ylabel: Of the axes.
        zero: Whether the vertical axis begins at 0.
    """
    ours = style.colour("StochLWTA-ML")  # whose settings these are
    with style.figure(path, form, max(1, len(panels)), width=3.9, height=3.2) as (_, grid):
        for axes, panel in zip(grid.flat, panels, strict=False):
            if panel["points"]:
                x, y, low, high = zip(*panel["points"], strict=True)
                errors = [[b - a for a, b in zip(low, y)], [b - a for a, b in zip(y, high)]]
                axes.errorbar(x, y, errors, color=ours, marker="o", markersize=4, linewidth=1.6, capsize=2, label="ours")
            if panel["printed"]:
                axes.plot(list(panel["printed"]), list(panel["printed"].values()), "--s", color=_PAPER, markersize=3.5, label="paper")
            axes.set(xlabel=xlabel, ylabel=ylabel)
            axes.set_xticks(sorted({*panel["printed"], *(point[0] for point in panel["points"])}))
            if zero:
                axes.set_ylim(bottom=0)
            style.title(axes, panel["title"])
            style.grid(axes)
            axes.legend(frameon=False)
