"""Learning curves over meta-iterations, as the paper's figure 4(a, b): `python -m stochlwta_tf.report.learning_curves RUN … --out FILE`."""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib.ticker
import numpy as np
from matplotlib.figure import Figure

from stochlwta_tf.errors import UserError
from stochlwta_tf.experiment import config as configuration
from stochlwta_tf.experiment import yaml_file
from stochlwta_tf.experiment.records import read
from stochlwta_tf.experiment.run_folder import RunFolder, replacing
from stochlwta_tf.experiment.train import exit_status
from stochlwta_tf.report import paper

_INK, _GRID = "#444444", "#e6e6e6"
_COLOURS = ("#2a6fbb", "#d1622b", "#3a9456", "#8a5bb5", "#c23b4b", "#7a6a58", "#c49a1a", "#3aa3a8", "#5a5a5a", "#d98bb0")
_AXES = {"val_mse": "validation MSE", "val_accuracy": "validation accuracy"}


class Curve(NamedTuple):
    """A method's validation score over meta-iterations: mean and range over its runs.

    Attributes:
        iterations: Where every one of the runs was validated.
        mean, low, high: Over runs, at those iterations.
        runs: Their number.
        reported: The paper's value at the end (`paper.Reported`), or None.
    """

    iterations: np.ndarray
    mean: np.ndarray
    low: np.ndarray
    high: np.ndarray
    runs: int
    reported: paper.Reported | None


def curves(folders, column="val_mse"):
    """Reads the metrics of runs, and groups the runs of one configuration, which differ in their seeds.

    Args:
        folders: Paths of run folders.
        column: Of `metrics.csv`.

    Returns:
        `{label: Curve}`. The label is the method's name; the configuration's where several have one method.

    Raises:
        UserError: A folder is no run, has no validation, or the runs of one name share no iteration or differ in more than seeds.

    Example:

        curves(["runs/sinusoid_default-seed0", "runs/sinusoid_default-seed1"])["StochLWTA-ML"].mean
    """
    groups, configurations = {}, {}
    for path in folders:
        folder = RunFolder(path)
        if not folder.config.exists():
            raise UserError(f"{path} is not a run: it has no {folder.config.name}.")
        config = yaml_file.read(folder.config)
        points = {int(row["iteration"]): float(row[column]) for row in read(folder.metrics) if row.get(column)}
        if not points:
            raise UserError(f"{folder.metrics} has no {column}: train with training.validate_every above 0.")
        groups.setdefault(config["name"], []).append(points)
        first = configurations.setdefault(config["name"], config)
        if changed := configuration.difference({**first, "seed": None}, {**config, "seed": None}):
            key, old, new = changed
            raise UserError(f"{path} is no other seed of {config['name']}, which has {key}={old}. Received: {key}={new}.")
    methods = {name: paper.METHODS.get(config["learner"]["name"], config["learner"]["name"]) for name, config in configurations.items()}
    result = {}
    for name, runs in groups.items():
        config = configurations[name]
        iterations = sorted(set.intersection(*map(set, runs)))
        if not iterations:
            raise UserError(f"the {len(runs)} runs of {name} were validated at no common iteration.")
        values = np.array([[points[i] for i in iterations] for points in runs])
        label = methods[name] if list(methods.values()).count(methods[name]) == 1 else name
        reported = paper.reported(column.removeprefix("val_"), config["task"], config["network"], config["learner"])
        result[label] = Curve(np.array(iterations), values.mean(0), values.min(0), values.max(0), len(runs), reported)
    return result


def draw(path, found, title="", column="val_mse"):
    """Draws curves with the range over runs, and the paper's end values as marks at the right edge.

    Args:
        path: The file to write; its suffix, `.png` or `.svg`, says what.
        found: What `curves` returned.
        title: Above the figure.
        column: Of `metrics.csv`; names the axis.
    """
    with matplotlib.rc_context({"font.size": 9, "font.family": "sans-serif", "axes.edgecolor": _INK, "text.color": _INK}):
        figure = Figure(figsize=(6.4, 3.9), dpi=160, layout="constrained")
        axes = figure.subplots()
        end = max(curve.iterations[-1] for curve in found.values())
        for i, (label, curve) in enumerate(found.items()):
            colour = _COLOURS[i % len(_COLOURS)]
            several = f" ({curve.runs} seeds)" if curve.runs > 1 else ""
            axes.fill_between(curve.iterations, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0)
            alone = {"marker": "o", "markersize": 4} if len(curve.iterations) == 1 else {}
            axes.plot(curve.iterations, curve.mean, color=colour, linewidth=1.6, label=f"{label}{several}", **alone)
            if curve.reported:
                axes.plot(end * 1.02, curve.reported.value, marker="D", color=colour, markersize=5, linestyle="", clip_on=False)
        if sources := {curve.reported.where for curve in found.values() if curve.reported}:
            axes.plot([], [], marker="D", color=_INK, markersize=5, linestyle="", label=f"the paper's, {', '.join(sorted(sources))}")
        if column == "val_mse":
            axes.set_yscale("log")
            axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(subs=(1, 2, 5)))
            axes.yaxis.set_major_formatter("{x:g}")
            axes.yaxis.set_minor_formatter(matplotlib.ticker.NullFormatter())
        axes.set_xlabel("meta-iterations")
        axes.xaxis.get_major_locator().set_params(nbins=5)
        axes.xaxis.set_major_formatter("{x:,.0f}")
        axes.set_ylabel(_AXES.get(column, column))
        axes.set_title(title, fontsize=10, loc="left")
        axes.set_axisbelow(True)
        axes.grid(color=_GRID, linewidth=0.6)
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(colors=_INK, length=3)
        figure.legend(loc="outside right upper", frameon=False)
        with replacing(Path(path)) as part:
            figure.savefig(part, format=Path(path).suffix[1:])


def main(argv=None):
    """Draws the curves of some runs as PNG and SVG; returns the exit status."""
    parser = argparse.ArgumentParser(prog="learning_curves", description="Draws validation scores over meta-iterations.")
    parser.add_argument("runs", metavar="RUN", nargs="+", help="run folders; those of one configuration are its seeds")
    parser.add_argument("--column", default="val_mse", help="column of metrics.csv (default: val_mse)")
    parser.add_argument("--title", default="", help="title of the figure")
    parser.add_argument("--out", metavar="FILE", required=True, help="the figure; its suffix is replaced by .png and .svg")
    arguments = parser.parse_args(argv)

    def command():
        found = curves(arguments.runs, arguments.column)
        for suffix in (".png", ".svg"):
            draw(Path(arguments.out).with_suffix(suffix), found, arguments.title, arguments.column)

    return exit_status(command)


if __name__ == "__main__":
    sys.exit(main())
