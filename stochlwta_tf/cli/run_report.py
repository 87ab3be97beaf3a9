"""A run's page: `evaluate.py --run DIR --html`."""

import contextlib
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
    from stochlwta_tf.cli import network_pictures
    from stochlwta_tf.report import html

    tasks = arguments.tasks or min(_TASKS, configuration.load(folder.config, arguments.set).evaluation.tasks)
    drawn, remarks = {}, []
    try:
        config, distribution, learner = network_pictures.opened(folder, arguments.set, tasks)
        wanted = [name for name, file in _wanted(distribution, learner).items() if not (folder.path / file).is_file()]
    except UserError as error:
        return {}, [str(error)]
    for name in wanted:
        try:
            if name == "predictions":
                draw = _predictions(config, distribution, learner)
            else:
                draw = functools.partial(
                    network_pictures.draw, name, result=network_pictures.numbers_of(name, learner, distribution, config)
                )
            if draw:
                drawn[name] = html.figure(draw, name)
        except UserError as error:
            remarks.append(f"{name}: {error}")
    return drawn, remarks


def _wanted(distribution, learner):
    """The pictures that apply to a learner, by name, each with the file that would make it needless."""
    from stochlwta_tf.evaluation.winners import layers_of

    found = {"reliability": "reliability.json"} if distribution.rules else {"predictions": "predictions.png"}
    with contextlib.suppress(UserError):  # of a network without competing units
        layers_of(learner.network)
        found["winners"] = "winners.json"
    return found


def _predictions(config, distribution, learner):
    """A function that draws what the learner predicts on the first tasks; None if these cannot be drawn as curves."""
    from stochlwta_tf.cli import run_test
    from stochlwta_tf.evaluation import measures_of, predict

    predictions = predict(learner, distribution, max(2, min(distribution.batch, config.evaluation.tasks)), progress=True)
    shown = run_test.tasks_to_draw(distribution, measures_of(predictions))
    tasks = distribution.sample(0)
    drawing = functools.partial(run_test.draw, tasks=tasks, predictions=predictions, shown=shown, learner=config.learner.name)
    return drawing if len(shown) else None
