"""The test of a trained run: `evaluate.py --run runs/sinusoid_default-seed0`."""

import argparse
import sys
from pathlib import Path

import numpy as np

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.experiment import build, inner_steps, metrics, report_command, running_mean
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
    "coverage90": "in the 90 % band",
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
    predictions = predict(learner, distribution, config.evaluation.tasks)
    if distribution.kind == "regression":
        noise_std = float(np.mean(predictions.noise_std))
        result = {**_describe(config, learner, predictions, regression(predictions)), "noise_std": noise_std}
    else:
        result = _describe(config, learner, predictions, classification(predictions, distribution.rules))
        names = build.class_names(distribution)
        result["classes"] = {"test": len(names), "also_trained_on": len(shared(trained, names))}
        if distribution.notes:
            result["data_notes"] = list(distribution.notes)
        if distribution.rules.running_mean and (last := running_mean.last(folder.metrics)):
            result["running_mean"] = last
    if config.evaluation.steps:

        def test(twin):
            found = predict(twin, distribution, config.evaluation.tasks)
            return regression(found) if distribution.kind == "regression" else classification(found, distribution.rules)

        result["after_steps"] = inner_steps.after_steps(learner, config.evaluation.steps, test)
    write_json(folder.evaluation, result)
    if distribution.kind == "regression" and (distribution.input_shape, distribution.outputs) == ((1,), 1):
        _draw(folder.figure, distribution.sample(0), predictions)
    _print(result)
    return result


def classification(predictions, rules):
    """The measures of a classification test under a protocol's `Rules`: `{name: (value, half of the 95 % interval, unit)}`."""
    p, y = predictions.mean, predictions.query_y
    return {
        "accuracy": _percent(metrics.mean_and_ci95(metrics.accuracy_under(rules, p, y))),
        "nll": (*metrics.mean_and_ci95(metrics.categorical_nll(p, y)), "nats"),
        "brier": (*metrics.mean_and_ci95(metrics.brier(p, y)), ""),
        "ece": _percent(metrics.calibration_error(p, y)),
    }


def regression(predictions):
    """The measures of a regression test, as `classification`."""
    draws, y, noise_std = predictions.draws, predictions.query_y, predictions.noise_std
    learned = {"noise_std": (*metrics.mean_and_ci95(np.mean(noise_std, (1, 2, 3))), "")} if np.ndim(noise_std) else {}
    return {
        "mse": (*metrics.mean_and_ci95(metrics.squared_error(draws, y)), ""),
        "nll": (*metrics.mean_and_ci95(metrics.mixture_nll(draws, y, noise_std)), "nats"),
        "coverage90": _percent(metrics.mean_and_ci95(metrics.coverage(draws, y, noise_std))),
        **learned,
    }


def _percent(pair):
    return 100 * pair[0], 100 * pair[1], "%"


def _describe(config, learner, predictions, measures):
    from stochlwta_tf.networks import parameters_of
    from stochlwta_tf.report import paper

    resolved = config.resolved()
    rows = {}
    for name, (value, ci95, unit) in measures.items():
        rows[name] = {"value": value, "ci95": ci95, "unit": unit}
        if reported := paper.reported(name, resolved["task"], resolved["network"], resolved["learner"]):
            rows[name] |= {"paper": reported.value, "paper_source": reported.where, "difference": value - reported.value}
    seconds = predictions.seconds[1:] if len(predictions.seconds) > 1 else predictions.seconds
    return {
        "name": config.name,
        "measures": rows,
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
    }


def _draw(path, tasks, predictions):
    from stochlwta_tf.report import predictions_figure

    n = min(_SHOWN, len(tasks.key), len(predictions.mean))
    order = np.argsort(tasks.query_x.numpy()[:n, :, 0], axis=1)
    draws = predictions.draws[:n]
    noise_std = predictions.noise_std[:n] if np.ndim(predictions.noise_std) else predictions.noise_std
    curves = (tasks.query_x.numpy()[:n], predictions.query_y[:n], predictions.mean[:n], *metrics.mixture_band(draws, noise_std))
    x, y, mean, low, high = (np.take_along_axis(curve[..., 0], order, 1) for curve in curves)
    draws = np.take_along_axis(draws[..., 0], order[:, None], 2)
    support = (tasks.support_x.numpy()[:n, :, 0], tasks.support_y.numpy()[:n, :, 0])
    with replacing(path) as part:
        predictions_figure.draw(part, support, (x, y), draws, mean, (low, high), float(np.mean(noise_std)))


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
        table.add_row(_LABELS[name], f"{row['value']:.4g} ± {row['ci95']:.2g}{unit}", paper)
    Console().print(table)
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
