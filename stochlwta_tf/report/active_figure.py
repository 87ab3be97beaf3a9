"""The picture of active learning: the measure against the number of labelled examples."""

from stochlwta_tf.report import style

_RANDOM = "#8a8a8a"
_MEASURES = {"mse": "MSE", "accuracy": "accuracy, %"}


def draw(path, result):
    """Draws each strategy with its 95 % interval, and the paired difference beside it where there are two.

    Args:
        path: The PNG file to write.
        result: What `experiment/active_learning.py` writes, a dictionary.
    """
    paired = next((key for key in result if key.endswith("- random")), None)
    with style.figure(path, "png", 2 if paired else 1, width=4.2, height=3.3) as (figure, grid):
        panels = grid[0]
        for name, curve in result["strategies"].items():
            colour = _RANDOM if name == "random" else style.BLUE
            _curve(panels[0], result["labelled"], curve, colour, "random choice" if name == "random" else f"largest {name}")
        panels[0].set_ylabel(_MEASURES[result["measure"]])
        panels[0].legend(frameon=False)
        if paired:
            panels[1].axhline(0, color=style.INK, linewidth=0.8)
            _curve(panels[1], result["labelled"], result[paired], style.BLUE, None)
            panels[1].set_ylabel(f"{_MEASURES[result['measure']]}: {paired.replace('-', '−')}")
            better = "below" if result["measure"] == "mse" else "above"
            style.title(panels[1], f"paired; {better} 0 the {paired.split()[0]} is the better guide")
        for axes in panels:
            axes.set_xlabel("labelled examples")
            axes.xaxis.get_major_locator().set_params(integer=True)
            style.grid(axes)
        style.heading(figure, f"{result['name']}: {result['tasks']} tasks, 95 % intervals")


def _curve(axes, x, curve, colour, label):
    low, high = zip(*((value - ci95, value + ci95) for value, ci95 in zip(curve["value"], curve["ci95"])))
    axes.fill_between(x, low, high, color=colour, alpha=0.15, linewidth=0)
    axes.plot(x, curve["value"], color=colour, linewidth=1.8, marker="o", markersize=4, label=label)
