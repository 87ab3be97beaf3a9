"""The picture of active learning: the measure against the number of labelled examples."""

import matplotlib
from matplotlib.figure import Figure

_INFORMED, _RANDOM, _INK, _GRID = "#2a6fbb", "#8a8a8a", "#444444", "#e6e6e6"
_MEASURES = {"mse": "MSE", "accuracy": "accuracy, %"}


def draw(path, result):
    """Draws each strategy with its 95 % interval, and the paired difference beside it where there are two.

    Args:
        path: The PNG file to write.
        result: What `experiment/active_learning.py` writes, a dictionary.
    """
    paired = next((key for key in result if key.endswith("- random")), None)
    with matplotlib.rc_context({"font.size": 9, "font.family": "sans-serif", "axes.edgecolor": _INK, "text.color": _INK}):
        figure = Figure(figsize=(8.2 if paired else 4.4, 3.3), dpi=160, layout="constrained")
        panels = figure.subplots(1, 2 if paired else 1, squeeze=False)[0]
        for name, curve in result["strategies"].items():
            colour = _RANDOM if name == "random" else _INFORMED
            _curve(panels[0], result["labelled"], curve, colour, "random choice" if name == "random" else f"largest {name}")
        panels[0].set_ylabel(_MEASURES[result["measure"]])
        panels[0].legend(frameon=False)
        if paired:
            panels[1].axhline(0, color=_INK, linewidth=0.8)
            _curve(panels[1], result["labelled"], result[paired], _INFORMED, None)
            panels[1].set_ylabel(f"{_MEASURES[result['measure']]}: {paired.replace('-', '−')}")
            better = "below" if result["measure"] == "mse" else "above"
            panels[1].set_title(f"paired; {better} 0 the {paired.split()[0]} is the better guide", fontsize=9, loc="left")
        for axes in panels:
            axes.set_xlabel("labelled examples")
            axes.xaxis.get_major_locator().set_params(integer=True)
            axes.set_axisbelow(True)
            axes.grid(color=_GRID, linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(colors=_INK, length=3)
        figure.suptitle(f"{result['name']}: {result['tasks']} tasks, 95 % intervals", fontsize=10, x=0.01, ha="left")
        figure.savefig(path, format="png")


def _curve(axes, x, curve, colour, label):
    low, high = zip(*((value - ci95, value + ci95) for value, ci95 in zip(curve["value"], curve["ci95"])))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(x, curve["value"], color=colour, linewidth=1.8, marker="o", markersize=4, label=label)
