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
    out = Path(arguments.out or Path(arguments.run) / f"{what}.png")
    if out.suffix not in (".png", ".svg"):
        raise ConfigurationError(f"a picture's --out must end in .png or .svg. Received: --out {out}.")
    with stoppable("stopped; no picture was made."):
        config, distribution, learner = opened(RunFolder(arguments.run), arguments.set, arguments.tasks)
        result = numbers_of(what, learner, distribution, config, None if arguments.tasks is None else config.evaluation.tasks)
        write_json(out.with_suffix(".json"), {**result, "command": command()})
        with replacing(out) as part:
            draw(what, part, out.suffix[1:], result)
    _print(what, result)
    print(f"The picture is {out}.")


def opened(folder, assignments=(), tasks=None):
    """The configuration, the test tasks and the learner of a test of a trained run; arguments as `provenance.configured`.

    Raises:
        UserError: There is no trained run, or its data or model cannot be read.
    """
    run, config = configured(folder, assignments, tasks)
    build.runtime(config)
    distribution = build.under_protocol(config, config.protocol, trained_on(folder, run, config))[1]
    return config, distribution, build.for_test(build.saved_learner(folder.model, distribution), config)


def numbers_of(what, learner, distribution, config, tasks=None):
    """The numbers of a picture, and what they are of, as plain values.

    Args:
        what: `"reliability"` or `"winners"`.
        learner, distribution, config: As `opened` returns them.
        tasks: How many test tasks; those of the configuration by default, or 50 of them for winners.

    Raises:
        UserError: The picture does not apply to the run.
    """
    about = {"name": config.name, "task": config.resolved()["task"], "learner": {"name": config.learner.name}}
    about |= {"protocol": config.protocol, "seed": config.seed, "iterations": config.training.iterations}
    return {**about, **{"reliability": _reliability, "winners": _winners}[what](learner, distribution, config, tasks)}


def draw(what, path, form, result):
    """Draws what `numbers_of` returns; `path` and `form` as `figures.style.figure` has them."""
    from stochlwta_tf.figures import reliability as reliability_figure
    from stochlwta_tf.figures import winners as winners_figure

    {"reliability": reliability_figure, "winners": winners_figure}[what].draw(path, form, result)


def _reliability(learner, distribution, config, tasks):
    from stochlwta_tf.evaluation import reliability
    from stochlwta_tf.evaluation.predictions import predict

    if distribution.rules is None:
        raise UserError(f"--reliability needs class probabilities; {config.name} predicts real numbers (see coverage90 in its evaluation).")
    predictions = predict(learner, distribution, tasks or config.evaluation.tasks, progress=True).whole()
    return {"tasks": len(predictions.query_y), **reliability.bins(predictions.mean, predictions.query_y)}


def _winners(learner, distribution, config, tasks):
    from stochlwta_tf.evaluation import winners

    layers = winners.layers_of(learner.network)
    number = tasks or min(_WINNERS_TASKS, config.evaluation.tasks)
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
