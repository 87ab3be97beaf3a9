"""A run's page: `evaluate.py --run DIR --html`."""

import functools
from pathlib import Path

from stochlwta_tf.cli import start
from stochlwta_tf.cli.exit_status import stoppable
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.training.run_folder import RunFolder, write_text

_TASKS = 100  # with which the pictures are made that the folder lacks


def report(arguments):
    """Writes the page of a run, with the pictures that its files or its model give.

    Args:
        arguments: `run`, `set`, `tasks`, `out` of `evaluate.py`; `set` and `tasks` are of the pictures that are made for it.

    Raises:
        UserError: There is no run, or its page cannot be written.
    """
    if arguments.run is None:
        raise ConfigurationError("--html needs --run DIR, the run to report on.")
    folder = RunFolder(arguments.run)
    if not folder.config.is_file():
        raise UserError(f"{folder.path} is not a run: it has no {folder.config.name}.")
    out = Path(arguments.out or folder.path / "report.html")
    if out.suffix != ".html":
        raise ConfigurationError(f"a report's --out must end in .html. Received: --out {out}.")
    configuration.read(folder.config, arguments.set)
    start.tensorflow()
    from stochlwta_tf.report import collect, run_page

    with stoppable("stopped; no report was made."):
        drawn, remarks = _drawn(folder, arguments) if folder.model.is_file() else ({}, [])
        text, problems = run_page.text(folder.path, drawn, remarks)
        collect.warn(problems)
        try:
            out.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{out}: cannot be written: {error.strerror}.") from error
        write_text(out, text)
    print(f"The report is {out}.")


def _drawn(folder, arguments):
    """The pictures that the folder lacks and the model gives, by name, and a line for each that cannot be made."""
    from stochlwta_tf.cli import network_pictures, run_test
    from stochlwta_tf.evaluation import measures_of, predict
    from stochlwta_tf.evaluation.winners import layers_of
    from stochlwta_tf.report import html

    config = configuration.load(folder.config, arguments.set)
    tasks = arguments.tasks or min(_TASKS, config.evaluation.tasks)
    drawn, remarks = {}, []
    try:
        config, distribution, learner = network_pictures.opened(folder, arguments.set, tasks)
    except UserError as error:
        return {}, [str(error)]
    wanted = ["reliability"] if distribution.rules else ["predictions"]
    try:
        layers_of(learner.network)
        wanted.append("winners")
    except UserError:
        pass  # no network of competing units
    for name in wanted:
        if (folder.path / f"{name}.{'png' if name == 'predictions' else 'json'}").is_file():
            continue
        try:
            if name == "predictions":
                predictions = predict(learner, distribution, max(2, min(distribution.batch, config.evaluation.tasks)), progress=True)
                shown = run_test.tasks_to_draw(distribution, measures_of(predictions))
                if not len(shown):
                    continue
                draw = functools.partial(
                    run_test.draw, tasks=distribution.sample(0), predictions=predictions, shown=shown, learner=config.learner.name
                )
            else:
                numbers = network_pictures.numbers_of(name, learner, distribution, config)
                draw = functools.partial(network_pictures.draw, name, result=numbers)
            drawn[name] = html.figure(draw, name)
        except UserError as error:
            remarks.append(f"{name}: {error}")
    return drawn, remarks
