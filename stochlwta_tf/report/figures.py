"""Figures of results."""

import matplotlib
import numpy as np
from matplotlib.figure import Figure

_TRUTH, _MODEL, _INK, _GRID = "#1b1b1b", "#2a6fbb", "#444444", "#e6e6e6"


def predictions(path, support, queries, draws, mean, band, noise_std):
    """Draws what a learner predicts on some regression tasks of one input and one output, a panel each.

    Args:
        path: The PNG file to write.
        support: Pair of arrays `[tasks, points]`, x and y.
        queries: Pair of arrays `[tasks, queries]`, x in increasing order, and the true y.
        draws: Sampled predictors `[tasks, B, queries]`.
        mean: Their mean `[tasks, queries]`.
        band: Pair of arrays `[tasks, queries]`: lower and upper edge of the 90 % predictive band.
        noise_std: Observation std that the band contains.
    """
    tasks, columns = len(mean), min(3, len(mean))
    rows = -(-tasks // columns)
    with matplotlib.rc_context({"font.size": 9, "font.family": "sans-serif", "axes.edgecolor": _INK, "text.color": _INK}):
        figure = Figure(figsize=(3.4 * columns, 2.5 * rows + 0.6), dpi=160, layout="constrained")
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for axes in panels.flat[tasks:]:
            axes.set_visible(False)
        for i, axes in enumerate(panels.flat[:tasks]):
            x, truth = queries[0][i], queries[1][i]
            axes.fill_between(x, band[0][i], band[1][i], color=_MODEL, alpha=0.14, linewidth=0, label=f"90 % band (σ = {noise_std:.3g})")
            lines = axes.plot(x, draws[i].T, color=_MODEL, alpha=0.35, linewidth=0.8)
            lines[0].set_label(f"{len(draws[i])} draws")
            axes.plot(x, mean[i], color=_MODEL, linewidth=2.0, label="mean")
            axes.plot(x, truth, color=_TRUTH, linewidth=1.2, linestyle=(0, (4, 2)), label="truth")
            axes.plot(
                support[0][i], support[1][i], "o", color=_TRUTH, markersize=5, markeredgecolor="white", label="support points", zorder=5
            )
            axes.set_title(f"task {i}: MSE {np.mean(np.square(mean[i] - truth)):.2f}", fontsize=9, loc="left")
            axes.set_axisbelow(True)
            axes.grid(color=_GRID, linewidth=0.6)
            axes.spines[["top", "right"]].set_visible(False)
            axes.tick_params(colors=_INK, length=3)
            axes.margins(x=0)
        figure.supxlabel("x", fontsize=9)
        figure.supylabel("y", fontsize=9)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        order = [labels.index(label) for label in sorted(labels, key=lambda label: label.startswith("90"))]
        figure.legend([handles[k] for k in order], [labels[k] for k in order], loc="outside upper center", ncols=5, frameon=False)
        figure.savefig(path, format="png")
