"""The test of a run's model: predict, measure, write, draw, print."""

from typing import NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

from stochlwta_tf import metrics
from stochlwta_tf.config import configuration
from stochlwta_tf.config.configuration import Configuration
from stochlwta_tf.evaluation import in_batches, inner_steps, predict_alike, tested, uncertainty
from stochlwta_tf.evaluation.result import result_of
from stochlwta_tf.figures import predictions as predictions_figure
from stochlwta_tf.figures import style, titles
from stochlwta_tf.layers.batch_normalization import normalizes
from stochlwta_tf.learners import MetaLearner
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.report import commands
from stochlwta_tf.training import board, build, data_record
from stochlwta_tf.training.run_folder import RunFolder, replacing, write_json

_SHOWN = 6  # tasks in the figure of predictions


def run_test(config, folder, distribution, trained):
    """Tests the saved model of a run, writes and prints the result, and for regression draws predictions.

    Args:
        config: The `Configuration`; its `evaluation` section says how to test.
        folder: The `RunFolder`.
        distribution: The test tasks.
        trained: Names of the classes that the run was trained on.

    Returns:
        What `evaluation.json` holds, a dictionary.

    Raises:
        UserError: The model cannot be loaded, does not fit the tasks, or the result cannot be written.
    """
    saved = build.saved_learner(folder.model, distribution)
    tests = [_Test(config, build.for_test(saved, config), folder)]
    if config.evaluation.both_statistics and normalizes(tests[0].learner.network):
        tests.append(_with_other_statistics(tests[0], saved))
    results = [_finished(*each, distribution, trained) for each in zip(tests, _tested(tests, distribution), strict=True)]
    return results[0]


class _Test(NamedTuple):
    config: Configuration
    learner: MetaLearner
    folder: RunFolder  # which says where the result goes


def _with_other_statistics(test, saved):
    """The test with the batch statistics that are not those of another."""
    other = "support" if test.learner.batch_statistics == "transductive" else "transductive"
    values, changed = test.config.resolved(), {"batch_statistics": other}
    values["evaluation"] |= changed
    config, folder = configuration.from_dict(values, where="evaluation.both_statistics"), RunFolder(test.folder.path)
    own = test.folder.evaluation
    folder.evaluation = own.with_stem(own.stem + commands.suffix(changed))
    folder.figure = folder.evaluation.with_suffix(".png")
    return _Test(config, build.for_test(saved, config), folder)


def _tested(tests, distribution):
    """Yields what was `Tested` in each of several tests, whose learners adapt alike."""
    config, folder, learners, rules = tests[0].config, tests[0].folder, [test.learner for test in tests], distribution.rules
    n, of_uncertainty = config.evaluation.tasks, config.evaluation.uncertainty
    if len(tests) == 1 and not of_uncertainty:  # the predictions of a batch are enough at a time
        yield tested(in_batches(learners[0], distribution, n, True), rules)
        return
    predicted = predict_alike(learners, distribution, n, True, of_uncertainty)
    fitted = [None] * len(tests)
    if of_uncertainty:
        classes = data_record.classes(data_record.read(folder.data), "validation")
        fitted = predict_alike(learners, build.tasks(config, "validation", classes), config.training.validation_tasks, True)
    for learner, predictions, on_validation in zip(learners, predicted, fitted, strict=True):
        found = tested([predictions], rules)
        more = uncertainty.measures_of(learner, predictions, on_validation, rules) if of_uncertainty else {}
        yield found._replace(measures={**found.measures, **more})


def _finished(test, found, distribution, trained):
    """Writes, draws and prints the result of a test, and returns it."""
    config, learner, folder = test
    result = result_of(config, learner, distribution, found, trained, folder.metrics)
    if counts := config.evaluation.inner_step_counts:
        result["after_steps"] = inner_steps.after_steps(learner, counts, distribution, config.evaluation.tasks, found.measures)
    write_json(folder.evaluation, result)
    if folder.evaluation == RunFolder(folder.path).evaluation:  # the run's own test, not one written elsewhere
        board.write_test(folder, result)
    if len(shown := tasks_to_draw(distribution, found.measures)):
        with replacing(folder.figure) as part:
            draw(part, "png", distribution.sample(0), found.first, shown, config.learner.name)
    print_result(result)
    print(f"The result is in {folder.evaluation}.")
    return result


def tasks_to_draw(distribution, measures):
    """Numbers of the tasks to draw: of a regression with one input and one output the first ones that have not diverged."""
    if distribution.rules is not None or (distribution.input_shape, distribution.outputs) != ((1,), 1):
        return []
    return np.flatnonzero(np.isfinite(measures["mse"].each[: distribution.batch]))[:_SHOWN]


def draw(path, form, tasks, predictions, shown, learner):
    """Draws the tasks with these numbers, none of which has diverged, as PNG or SVG."""
    order = np.argsort(tasks.query_x.numpy()[shown, :, 0], axis=1)
    draws = predictions.draws[shown]
    noise_std = predictions.noise_std[shown] if np.ndim(predictions.noise_std) else predictions.noise_std
    curves = (tasks.query_x.numpy()[shown], predictions.query_y[shown], predictions.mean[shown], *metrics.mixture_band(draws, noise_std))
    x, y, mean, low, high = (np.take_along_axis(curve[..., 0], order, 1) for curve in curves)
    draws = np.take_along_axis(draws[..., 0], order[:, None], 2)
    support = (tasks.support_x.numpy()[shown, :, 0], tasks.support_y.numpy()[shown, :, 0])
    colour, sigma = style.colour(titles.method(learner)), float(np.mean(noise_std))
    predictions_figure.draw(path, form, support, (x, y), draws, mean, (low, high), sigma, shown, colour)


def print_result(result):
    statistics = f", batch statistics: {result['batch_statistics']}" if result["batch_statistics"] else ""
    print(f"{result['name']}: {titles.task(result['task'])}, {result['tasks']} test tasks, protocol: {result['protocol']}{statistics}")
    table = Table()
    table.add_column("measure")
    table.add_column("value ± 95 % CI", justify="right")
    table.add_column("paper", justify="right")
    for name, row in result["measures"].items():
        unit = f" {row['unit']}" if row["unit"] else ""
        paper = f"{row['paper']:.2f} ({row['paper_source']})" if "paper" in row else "–"
        table.add_row(MEASURES[name].label, inner_steps.shown(row) + unit, paper)
    Console().print(table)
    if "diverged" in result:
        print("{tasks} of {of} test tasks diverged: {rule}.".format(of=result["tasks"], **result["diverged"]))
    if "after_steps" in result:
        inner_steps.show(result["after_steps"])
    for note in result.get("data_notes", ()):
        print(note)
    if result.get("classes", {}).get("also_trained_on"):
        print("{also_trained_on} of the {test} test classes were trained on.".format(**result["classes"]))
    if "running_mean" in result:
        print(
            "mean since iteration 0 (what the published code prints): training {training:.1f} %, test {test:.1f} %".format(
                **result["running_mean"]
            )
        )
