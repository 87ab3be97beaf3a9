"""How a measure is distributed over the test tasks."""

import numpy as np

from stochlwta_tf.figures import style


def draw(path, form, values, mean, colour, xlabel):
    """Draws a histogram of the tasks' values with a line at their mean.

    Args:
        path, form: As `style.figure`.
        values: The measure of each task.
        mean: Their mean.
        colour: Colour of the method.
        xlabel: The measure in words.

    Example:

    >>> draw("tasks.svg", "svg", [40.0, 52.0, 44.0], 45.3, style.BLUE, "accuracy, %")
    """
    with style.figure(path, form, 1, width=3.9, height=2.5) as (_, panels):
        axes = panels[0, 0]
        axes.hist(values, bins=np.histogram_bin_edges(values, bins=min(15, max(5, len(values) // 10))), color=colour, alpha=0.45)
        axes.axvline(mean, color=style.INK, linewidth=1, linestyle=(0, (4, 2)), label="mean")
        axes.set(xlabel=f"{xlabel}, of one task", ylabel="test tasks")
        axes.yaxis.get_major_locator().set_params(integer=True)
        style.grid(axes, "y")
        axes.legend(frameon=False, fontsize=8)
