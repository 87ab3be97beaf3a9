"""The test of a trained run: `evaluate.py --run runs/sinusoid_default-seed0`."""

import argparse
import sys
from pathlib import Path

import numpy as np

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.experiment import build, inner_steps, measures, metrics, report_command, running_mean
from stochlwta_tf.experiment.exit_status import exit_status, stoppable
from stochlwta_tf.experiment.predictions import predict
from stochlwta_tf.experiment.run_folder import RunFolder, replacing, write_json
from stochlwta_tf.experiment.tested import configured, described, trained_on
from stochlwta_tf.tasks.protocols import shared

_SHOWN = 6  # tasks in the figure of predictions
_LABELS = {
    "accuracy": "accuracy",
    "nll": "NLL",
    "brier": "Brier score",
    "ece": "calibration error",
    "mse": "MSE",
    "coverage90": "in the 90 % band, noise-free targets",
    "noise_std": "learned noise σ",
}


def main(argv=None):
    """Evaluates the model of a run folder; returns the exit status."""
    parser = argparse.ArgumentParser(prog="evaluate.py", description="Tests the trained model of a run on new tasks, or reports many.")
    parser.add_argument("--run", metavar="DIR", help="the run's folder")
    parser.add_argument("--tasks", metavar="N", help="number of test tasks; short for --set evaluation.tasks=N")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys, such as evaluation.draws=10"
    )
    parser.add_argument(
        "--protocol", metavar="NAMES", help="test under these protocols, such as standard,paper,original_code (default: the run's own)"
    )
    parser.add_argument("--out", metavar="FILE", help="the result's file (default: evaluation.json in the run's folder)")
    parser.add_argument("--audit", action="store_true", help="show what each part of the original code's scoring adds to the accuracy")
    parser.add_argument("--active", action="store_true", help="test active learning, as the section active_learning says")
    report_command.add_arguments(parser)
    arguments = parser.parse_args(argv)
    if report_command.asked(arguments):
        return exit_status(lambda: report_command.run(arguments))
    if arguments.run is None:
        parser.error("--run is needed, or --table, --figure or --page with --runs")
    if arguments.active and (arguments.audit or arguments.protocol):
        parser.error("--active goes with neither --audit nor --protocol")
    return exit_status(lambda: _main(arguments))


def _main(arguments):
    if arguments.out and Path(arguments.out).suffix != ".json":
        raise ConfigurationError(f"a test's --out must end in .json; a picture comes to lie beside it. Received: --out {arguments.out}.")
    folder = RunFolder(arguments.run)
    run, config = configured(folder, arguments.set, arguments.tasks)
    with stoppable("stopped; what was tested before is kept."):
        build.runtime(config)
        trained = trained_on(folder, run, config)
        if arguments.audit:
            from stochlwta_tf.experiment import audit

            audit.audit(config, folder, trained, arguments.out)
            return
        if arguments.active:
            from stochlwta_tf.experiment import active_learning

            distribution = build.under_protocol(config, config.protocol, trained)[1]
            learner = build.for_test(build.saved_learner(folder.model, distribution), config)
            active_learning.active(config, folder, learner, arguments.out, trained.test and trained.test.classes)
            return
        out = Path(arguments.out) if arguments.out else folder.evaluation
        names = arguments.protocol.split(",") if arguments.protocol else [run.protocol]
        for name, (tested, distribution) in {name: build.under_protocol(config, name, trained) for name in names}.items():
            folder.evaluation = out if name == run.protocol else out.with_stem(f"{out.stem}-{name}")
            if arguments.out:
                folder.figure = folder.evaluation.with_suffix(".png")
            evaluate(tested, folder, distribution, trained.classes)


def evaluate(config, folder, distribution, trained):
    """Tests the saved model of a run, writes and prints the result, and for regression draws predictions.

    Args:
        config: The `Configuration`; its `evaluation` section says how to test.
        folder: The `RunFolder`.
        distribution: The test tasks.
        trained: Names of the classes that the run was trained on.

    Returns:
        What `evaluation.json` holds, a dictionary.

    Raises:
        UserError: The model cannot be loaded, does not fit the tasks, or the result not be written.
    """
    learner = build.for_test(build.saved_learner(folder.model, distribution), config)

    def test(learner):
        found = predict(learner, distribution, config.evaluation.tasks)
        measured = measures.regression(found) if distribution.kind == "regression" else measures.classification(found, distribution.rules)
        return found, measured

    predictions, measured = test(learner)
    result = _describe(config, learner, predictions, measured)
    if distribution.kind == "regression":
        result["noise_std"] = float(measured["noise_std"].value if "noise_std" in measured else predictions.noise_std)
    else:
        names = build.class_names(distribution)
        result["classes"] = {"test": len(names), "also_trained_on": len(shared(trained, names))}
        if distribution.notes:
            result["data_notes"] = list(distribution.notes)
        if distribution.rules.running_mean and (last := running_mean.last(folder.metrics)):
            result["running_mean"] = last
    if config.evaluation.steps:
        result["after_steps"] = inner_steps.after_steps(learner, config.evaluation.steps, lambda twin: test(twin)[1])
    write_json(folder.evaluation, result)
    if distribution.kind == "regression" and (distribution.input_shape, distribution.outputs) == ((1,), 1):
        shown = np.flatnonzero(np.isfinite(measured["mse"].each[: distribution.batch]))[:_SHOWN]
        _draw(folder.figure, distribution.sample(0), predictions, shown, config.learner.name)
    _print(result)
    return result


def _describe(config, learner, predictions, measured):
    from stochlwta_tf.networks import parameters_of
    from stochlwta_tf.report import paper

    resolved = config.resolved()
    rows = {name: measure.row() for name, measure in measured.items()}
    for name, row in rows.items():
        if reported := paper.reported(name, resolved):
            row |= {"paper": reported.value, "paper_source": reported.where}
            if not row.get("diverged"):  # a median is not to be compared with the paper's mean
                row["difference"] = row["value"] - reported.value
    main = "mse" if "mse" in rows else "accuracy"
    diverged = measured[main].diverged
    seconds = predictions.seconds[1:] if len(predictions.seconds) > 1 else predictions.seconds
    return {
        "name": config.name,
        "measures": rows,
        **({"diverged": {"tasks": diverged, "rule": measures.RULE}} if diverged else {}),
        "tasks": len(predictions.query_y),
        **described(config, learner),
        "evaluation": resolved["evaluation"],
        "parameters": parameters_of(learner),
        "adapt_and_predict": {
            "batch": config.evaluation.batch,
            "batches": len(seconds),
            "milliseconds_per_task": 1000 * float(np.median(seconds)) / config.evaluation.batch,
            "first_batch_seconds": float(predictions.seconds[0]),
        },
        "per_task": {main: measures.per_task(measured[main])},
    }


def _draw(path, tasks, predictions, shown, learner):
    """Draws the tasks of those numbers, which have not diverged."""
    from stochlwta_tf.report import predictions_figure, style, words

    if not len(shown):
        return
    order = np.argsort(tasks.query_x.numpy()[shown, :, 0], axis=1)
    draws = predictions.draws[shown]
    noise_std = predictions.noise_std[shown] if np.ndim(predictions.noise_std) else predictions.noise_std
    curves = (tasks.query_x.numpy()[shown], predictions.query_y[shown], predictions.mean[shown], *metrics.mixture_band(draws, noise_std))
    x, y, mean, low, high = (np.take_along_axis(curve[..., 0], order, 1) for curve in curves)
    draws = np.take_along_axis(draws[..., 0], order[:, None], 2)
    support = (tasks.support_x.numpy()[shown, :, 0], tasks.support_y.numpy()[shown, :, 0])
    colour, sigma = style.colour(words.method(learner)), float(np.mean(noise_std))
    with replacing(path) as part:
        predictions_figure.draw(part, support, (x, y), draws, mean, (low, high), sigma, shown, colour)


def _print(result):
    from rich.console import Console
    from rich.table import Table

    print(f"{result['name']}: {result['tasks']} test tasks, protocol: {result['protocol']}")
    table = Table()
    table.add_column("measure")
    table.add_column("value ± 95 % CI", justify="right")
    table.add_column("paper", justify="right")
    for name, row in result["measures"].items():
        unit = f" {row['unit']}" if row["unit"] else ""
        paper = f"{row['paper']:.2f} ({row['paper_source']})" if "paper" in row else "–"
        table.add_row(_LABELS[name], inner_steps.shown(row) + unit, paper)
    Console().print(table)
    if "diverged" in result:
        print("{tasks} of {of} test tasks diverged: {rule}.".format(of=result["tasks"], **result["diverged"]))
    if "after_steps" in result:
        inner_steps.show(result["after_steps"], _LABELS)
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


if __name__ == "__main__":
    sys.exit(main())
