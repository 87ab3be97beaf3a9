"""Result folders as runs leave them, for the tests of reports: small files alone, no model."""

import functools
import json

from stochlwta_tf.config import suites
from stochlwta_tf.report import collect, tables
from stochlwta_tf.training.run_folder import write_text

GAUSSIAN = "stochastic LWTA (Gaussians)"

_suite = functools.cache(suites.load)


def write(
    runs, cell, value, *, seed=0, iterations=None, protocol="standard", trained=None, statistics=None, ci95=0.5, folder=None, **changes
):
    """Writes the folder of a run that fills a cell of a suite; returns its path.

    Args:
        runs: The folder of all runs.
        cell: A `Cell`.
        value: Of its measure.
        seed, iterations: Of the run.
        protocol, trained: Protocol of the test, and of the training where it is another.
        statistics: Batch statistics.
        ci95: Half interval.
        folder: Its name, where it is not `<name>-seed<seed>`.
        **changes: Keys of `evaluation.json` that are otherwise.
    """
    more = [f"seed={seed}"]
    if "protocol" in type(cell.load().task).model_fields:
        more.append(f"task.protocol={trained or protocol}")
    if iterations:
        more += [f"training.iterations={iterations}", f"training.log_every={iterations}", "training.validate_every=0"]
        more += ["training.steps_per_execution=1"]
    config = cell.load(more)
    path = runs / (folder or f"{config.name}-seed{seed}")
    path.mkdir(parents=True, exist_ok=True)
    resolved = config.resolved()
    write_text(path / "config.yaml", config.to_yaml())
    evaluation = {
        "name": config.name,
        "measures": {cell.measure: {"value": value, "ci95": ci95, "unit": "%" if cell.measure == "accuracy" else ""}},
        "tasks": 600,
        "protocol": protocol,
        "batch_statistics": statistics,
        "iterations": config.training.iterations,
        "seed": seed,
        "task": {**resolved["task"], **({"protocol": protocol} if "protocol" in resolved["task"] else {})},
        "learner": resolved["learner"],
        "evaluation": {**resolved["evaluation"], **cell.row.test},
        "inner_steps": resolved["learner"]["inner_steps"],
        "draws": cell.row.test.get("draws", resolved["learner"]["draws"] or 1),
        "parameters": {"trainable": 53476, "stored": 55044},
        "device": "a processor",
        "command": f"train.py --config {cell.config} --set seed={seed}",
        **changes,
    }
    name = f"evaluation-{protocol}.json" if trained not in (None, protocol) else "evaluation.json"
    if cell.row.test:
        name = "evaluation-other.json"
    write_text(path / name, json.dumps(evaluation))
    return path


def cell(suite, row, column, variant=None):
    """The cell of a suite that a row and column name."""
    for found in _suite(suite).cells():
        if (found.row.label, found.column.label) == (row, column) and variant in (None, found.row.variant):
            return found
    raise LookupError(f"no cell {row}, {column} in {suite}")


def table(runs, suite):
    """The table of a suite that results in a folder fill."""
    return tables.fill(_suite(suite), collect.read(runs))


def entry(table, row, column, group=0, variant=None):
    """The entry of a table that a row and column name."""
    return next(e for e in table.groups[group][1] if (e.row, e.column) == (row, column) and variant in (None, e.variant))


def three_seeds(runs):
    """Three seeds of one cell of table 5, one of another."""
    for seed, value in enumerate((90.0, 91.0, 95.0)):
        write(runs, cell("table5", GAUSSIAN, "omniglot_20w1s"), value, seed=seed)
    write(runs, cell("table5", "ReLU (Gaussians)", "omniglot_20w5s"), 80.0)
