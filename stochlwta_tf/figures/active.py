"""The picture of active learning: the measure against the number of labelled examples."""

from stochlwta_tf.figures import style, titles
from stochlwta_tf.measures import MEASURES

_RANDOM = "#8a8a8a"
_RANGES = {"mse": (0, None), "accuracy": (0, 100)}  # intervals are cut to the range of the measure


def draw(path, result):
    """Draws each strategy with its 95 % interval, and next to it the paired difference if there are two.

    An error is drawn by its median over tasks, an accuracy by its mean.

    Args:
        path: The PNG file to write.
        result: What `evaluation/active_learning.py` writes, a dictionary.
    """
    measure = MEASURES[result["measure"]].axis
    own, median = style.colour(titles.method(result["learner"]["name"])), result["measure"] == "mse"
    paired = next((key for key in result if key.endswith("- random")), None)
    with style.figure(path, "png", 2 if paired else 1, width=4.2, height=3.3) as (figure, grid):
        panels = grid[0]
        for name, curve in result["strategies"].items():
            colour, label = (_RANDOM, "random choice") if name == "random" else (own, f"largest {name}")
            _curve(panels[0], result["labelled"], ends(curve, median, *_RANGES[result["measure"]]), colour, label)
        panels[0].set_ylabel(f"median {measure}" if median else measure)
        panels[0].legend(frameon=False)
        if paired:
            panels[1].axhline(0, color=style.INK, linewidth=0.8)
            _curve(panels[1], result["labelled"], ends(result[paired], median), own, None)
            panels[1].set_ylabel(f"{measure}: {paired.replace('-', '−')}")
            better = "below" if result["measure"] == "mse" else "above"
            style.title(panels[1], f"{'median of pairs' if median else 'paired'}; {better} 0 the {paired.split()[0]} is the better guide")
        for axes in panels:
            axes.set_xlabel("labelled examples")
            axes.xaxis.get_major_locator().set_params(integer=True)
            style.grid(axes)
        most = max(max(curve["diverged"]) for curve in result["strategies"].values())
        lost = f", of which up to {most} diverged" if most else ""
        style.heading(figure, f"{titles.run(result)}: {result['tasks']} tasks{lost}; 95 % intervals")


def ends(curve, median, least=None, most=None):
    """Middle, lower and upper end of what is drawn: the median or the mean with its interval, cut to the range of the measure."""
    if median:
        return curve["median"], curve["median_low"], curve["median_high"]
    low, high = zip(*((value - ci95, value + ci95) for value, ci95 in zip(curve["value"], curve["ci95"])))
    low = low if least is None else [max(least, value) for value in low]
    return curve["value"], low, high if most is None else [min(most, value) for value in high]


def _curve(axes, x, values, colour, label):
    middle, low, high = values
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(x, middle, color=colour, linewidth=1.8, marker="o", markersize=4, label=label)
