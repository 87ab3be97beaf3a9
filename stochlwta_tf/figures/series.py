"""One panel of curves over a training, or of a measure by a setting."""

from stochlwta_tf.figures import style


def draw(path, form, lines, xlabel, ylabel, log=False, level=None):
    """Draws curves, each with its interval where it has one.

    Args:
        path, form: As `style.figure`.
        lines: Dictionaries with `label`, `x`, `y`, `colour` and, if the curve has an interval, its `low` and `high`; a curve with
            `points` has a mark at each.
        xlabel, ylabel: Of the axes.
        log: Whether the vertical axis is logarithmic.
        level: A dictionary with `label`, `value`, `low` and `high`, a horizontal line to compare the curves with.

    Example:

    >>> draw("loss.svg", "svg", [{"label": "loss", "x": [1, 2], "y": [3.0, 2.0], "colour": style.BLUE}], "meta-iterations", "loss")
    """
    with style.figure(path, form, 1, width=3.9, height=2.5) as (_, panels):
        axes = panels[0, 0]
        if level:
            axes.axhspan(level["low"], level["high"], color=style.INK, alpha=0.12, linewidth=0)
            axes.axhline(level["value"], color=style.INK, linewidth=1, linestyle=(0, (4, 2)), label=level["label"])
        for line in lines:
            if "low" in line:
                axes.fill_between(line["x"], line["low"], line["high"], color=line["colour"], alpha=0.15, linewidth=0)
            mark = "o" if line.get("points") else None
            axes.plot(line["x"], line["y"], color=line["colour"], linewidth=1.6, marker=mark, markersize=4, label=line["label"])
        axes.set(xlabel=xlabel, ylabel=ylabel)
        if log:
            style.logarithmic(axes.yaxis)
        axes.xaxis.set_major_formatter("{x:,.10g}")
        axes.xaxis.get_major_locator().set_params(integer=True, nbins=6)
        style.grid(axes)
        if len(lines) > 1 or level:
            axes.legend(frameon=False, fontsize=8)
