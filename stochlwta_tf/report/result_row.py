"""Tests of runs as rows of HTML tables: each measure a column, the rest folded."""

from stochlwta_tf import paper
from stochlwta_tf.figures import titles
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.report import cell_text


def measures_of(results):
    """Names of the measures of any of the results, in the order in which they are shown."""
    found = {name for result in results for name in result.evaluation.measures}
    return [name for name in MEASURES if name in found] + sorted(found - MEASURES.keys())


def row(result, names):
    """A test as a dictionary: what it is of, its cells, and its details.

    Args:
        result: A `Result`.
        names: The measures that the table has a column for.

    Returns:
        `name`, `file` (None for the run's own test), `method`, `task`, `cells` (pairs of a text and a number to sort by, or None for a
        measure that it lacks), `iterations`, `seed`, `tasks`, `protocol`, `draws`, `inner_steps`, `details` (pairs of a term and its text),
        `report` (the address of the run's own page, here None) and `command`.
    """
    evaluation = result.evaluation
    measures = [evaluation.measures.get(name) for name in names]
    return {
        "name": result.folder,
        "file": None if result.file == "evaluation.json" else result.file,
        "method": titles.method(result.config.learner.name),
        "task": titles.task(evaluation.task),
        "cells": [measure and (cell_text.of_test(name, measure), measure.value) for name, measure in zip(names, measures)],
        "iterations": evaluation.iterations,
        "seed": evaluation.seed,
        "tasks": evaluation.tasks,
        "protocol": evaluation.protocol,
        "draws": evaluation.draws,
        "inner_steps": evaluation.inner_steps,
        "details": details(result),
        "report": None,
        "command": result.command,
    }


def details(result):
    """How a number was obtained, as pairs of a term and its text."""
    evaluation = result.evaluation
    found = [("draws B, inner steps", f"{evaluation.draws}, {evaluation.inner_steps}")]
    found.append(("parameters", f"{evaluation.parameters.trainable:,} trainable, {evaluation.parameters.stored:,} stored"))
    if evaluation.noise_std is not None:
        found.append(("observation noise σ", f"{evaluation.noise_std:.3g}"))
    if time := cost(evaluation.training):
        found.append(("training", time))
    if "milliseconds_per_task" in evaluation.adapt_and_predict:
        found.append(
            ("adapting and predicting", f"{float(format(evaluation.adapt_and_predict['milliseconds_per_task'], '.3g')):,g} ms a task")
        )
    found.append(("device", evaluation.device))
    found += [(f"the paper's {MEASURES[name].label}", text) for name in evaluation.measures if (text := beside(name, result))]
    return [*found, *(("data", note) for note in evaluation.data_notes)]


def cost(training):
    """What a training took, in words; empty if it is not recorded.

    Example:

    >>> cost({"seconds": 316.6, "core_seconds": 179.1})
    '5 min 17 s, 2 min 59 s of processor time in meta-iterations'
    """
    parts = [duration(training["seconds"])] if "seconds" in training else []
    parts += [f"{duration(training['core_seconds'])} of processor time in meta-iterations"] if "core_seconds" in training else []
    return ", ".join(parts)


def duration(seconds):
    """A time in words, of two units at most.

    Example:

    >>> duration(3725)
    '1 h 2 min'
    """
    seconds = round(seconds)
    hours, minutes = divmod(round(seconds / 60), 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{seconds // 60} min {seconds % 60} s" if seconds >= 60 else f"{seconds} s"


def beside(name, result):
    """The paper's number for a measure of a test with the difference, in words; None if there is none."""
    reported = paper.reported(name, result.tested.resolved())
    if reported is None:
        return None
    measure = result.evaluation.measures[name]
    difference = "" if measure.diverged else f", difference {cell_text.signed(measure.value - reported.value, name)}"
    return f"{cell_text.number(reported.value, name)} ({reported.where}){difference}"
