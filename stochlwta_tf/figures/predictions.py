"""The picture of what a learner predicts on some regression tasks."""

import numpy as np

from stochlwta_tf.figures import style

_TRUTH = "#1b1b1b"


def draw(path, form, support, queries, draws, mean, band, noise_std, numbers, colour):
    """Draws tasks with one input and one output, one panel each: truth, support points, draws, their mean and the 90 % band.

    Args:
        path, form: As `style.figure`.
        support: Pair of arrays `[tasks, points]`, x and y.
        queries: Pair of arrays `[tasks, queries]`, x in increasing order, and the true y.
        draws: Sampled predictors `[tasks, B, queries]`.
        mean: Their mean `[tasks, queries]`.
        band: Pair of arrays `[tasks, queries]`: lower and upper edge of the 90 % predictive band.
        noise_std: Observation std that the band contains, so that it covers more than 90 % of the noise-free truth.
        numbers: Numbers of the tasks among those tested, `[tasks]`.
        colour: Colour of the method.
    """
    tasks, columns = len(mean), min(3, len(mean))
    rows = -(-tasks // columns)
    with style.figure(path, form, columns, rows, width=3.4, height=2.5 + 0.6 / rows, sharex=True, sharey=True) as (figure, panels):
        for axes in panels.flat[tasks:]:
            axes.set_visible(False)
        for i, axes in enumerate(panels.flat[:tasks]):
            x, truth = queries[0][i], queries[1][i]
            axes.fill_between(x, band[0][i], band[1][i], color=colour, alpha=0.14, linewidth=0, label=f"90 % band (σ = {noise_std:.3g})")
            lines = axes.plot(x, draws[i].T, color=colour, alpha=0.35, linewidth=0.8)
            lines[0].set_label(f"{len(draws[i])} draws")
            axes.plot(x, mean[i], color=colour, linewidth=2.0, label="mean")
            axes.plot(x, truth, color=_TRUTH, linewidth=1.2, linestyle=(0, (4, 2)), label="truth")
            axes.plot(
                support[0][i], support[1][i], "o", color=_TRUTH, markersize=5, markeredgecolor="white", label="support points", zorder=5
            )
            style.title(axes, f"task {numbers[i]}: MSE {np.mean(np.square(mean[i] - truth)):.2f}")
            style.grid(axes)
            axes.margins(x=0)
        figure.supxlabel("x", fontsize=9)
        figure.supylabel("y", fontsize=9)
        handles, labels = panels[0, 0].get_legend_handles_labels()
        order = [labels.index(label) for label in sorted(labels, key=lambda label: label.startswith("90"))]
        figure.legend([handles[k] for k in order], [labels[k] for k in order], loc="outside upper center", ncols=5, frameon=False)
