"""Pictures of a trained run's network: `evaluate.py --run DIR --reliability`, `evaluate.py --run DIR --winners`."""

from pathlib import Path

import numpy as np

from stochlwta_tf.cli.exit_status import stoppable
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.evaluation.provenance import configured, trained_on
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder, command, replacing, write_json

_WINNERS_TASKS = 50


def report(what, arguments):
    """Draws the picture and writes its numbers to a JSON file next to it.

    Args:
        what: `"reliability"` or `"winners"`.
        arguments: `run`, `set`, `tasks`, `out` of `evaluate.py`.

    Raises:
        UserError: There is no trained run, or this picture does not apply to it.
    """
    if arguments.run is None:
        raise ConfigurationError(f"--{what} needs --run DIR, the run whose network to look at.")
    folder = RunFolder(arguments.run)
    run, config = configured(folder, arguments.set, arguments.tasks)
    out = Path(arguments.out or folder.path / f"{what}.png")
    if out.suffix not in (".png", ".svg"):
        raise ConfigurationError(f"a picture's --out must end in .png or .svg. Received: --out {out}.")
    with stoppable("stopped; no picture was made."):
        build.runtime(config)
        distribution = build.under_protocol(config, config.protocol, trained_on(folder, run, config))[1]
        learner = build.for_test(build.saved_learner(folder.model, distribution), config)
        result = {"reliability": _reliability, "winners": _winners}[what](learner, distribution, config, arguments.tasks is None)
        about = {"task": config.resolved()["task"], "learner": {"name": config.learner.name}}
        result = {
            "name": config.name,
            **about,
            "protocol": config.protocol,
            "seed": config.seed,
            "iterations": config.training.iterations,
            **result,
        }
        write_json(out.with_suffix(".json"), {**result, "command": command()})
        with replacing(out) as part:
            _draw(what, part, out.suffix[1:], result)
    _print(what, result)
    print(f"The picture is {out}.")


def _draw(what, path, form, result):
    from stochlwta_tf.figures import reliability as reliability_figure
    from stochlwta_tf.figures import winners as winners_figure

    {"reliability": reliability_figure, "winners": winners_figure}[what].draw(path, form, result)


def _reliability(learner, distribution, config, _):
    from stochlwta_tf.evaluation import reliability
    from stochlwta_tf.evaluation.predictions import predict

    if distribution.rules is None:
        raise UserError(f"--reliability needs class probabilities; {config.name} predicts real numbers (see coverage90 in its evaluation).")
    predictions = predict(learner, distribution, config.evaluation.tasks, progress=True).whole()
    return {"tasks": len(predictions.query_y), **reliability.bins(predictions.mean, predictions.query_y)}


def _winners(learner, distribution, config, default):
    from stochlwta_tf.evaluation import winners

    layers = winners.layers_of(learner.network)
    number = min(_WINNERS_TASKS, config.evaluation.tasks) if default else config.evaluation.tasks
    found, labels = {layer.name: [] for layer in layers}, []
    for index in distribution.batches(number):
        batch = distribution.sample(index)
        for name, won in winners.wins(learner, batch).items():
            found[name].append(won)
        groups, number_of_groups, rows = distribution.query_groups(batch)
        labels.append(groups)
    labels = np.concatenate(labels)[:number]
    summaries = []
    for layer in layers:
        won = np.concatenate(found[layer.name])[:number]
        summaries.append({"name": layer.name, **winners.summary(won, labels, number_of_groups, layer.competitors)})
    return {"tasks": number, "draws": learner.draws, "rows": rows, "layers": summaries}


def _print(what, result):
    if what == "reliability":
        print(f"{result['name']}: {result['tasks']} test tasks, expected calibration error {result['ece']:.2f} %")
        return
    print(f"{result['name']}: {result['tasks']} test tasks, {result['draws']} draws each")
    for layer in result["layers"]:
        units, least = layer["blocks"] * layer["competitors"], 100 / layer["competitors"]
        print(
            f"{layer['name']}: {layer['blocks']} blocks of {layer['competitors']}; {layer['unused']} of {units} units never win; "
            f"a {result['rows']}'s most frequent winner wins {100 * layer['consistency']:.1f} % (at least {least:.1f} %)"
        )
