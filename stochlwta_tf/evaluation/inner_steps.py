"""One test after several numbers of inner steps: `evaluation.inner_step_counts`."""

from rich.console import Console
from rich.table import Table

from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.evaluation.measured import tested
from stochlwta_tf.evaluation.predictions import in_batches
from stochlwta_tf.measures import MEASURES


def after_steps(learner, counts, distribution, tasks, own):
    """The measures of a test after each of several numbers of inner steps, on the same tasks with the same noise.

    With zero steps the prediction is that of the meta-learned network; PLATIPUS still uses the support set's gradient in p(theta | S).

    Args:
        learner: A `MetaLearner`.
        counts: Numbers of inner steps.
        distribution: The test tasks.
        tasks: How many.
        own: The measures after the learner's own number of steps, `{name: Measured}`, which are not computed again.

    Returns:
        `{str(steps): {name: Measured.row()}}`, keys as in JSON. Numbers at which half of the tasks diverge are skipped, with a message.
    """
    results = {}
    for steps in counts:
        try:
            of_own = steps == learner.steps_at_test
            batches = () if of_own else in_batches(learner, distribution, tasks, True, steps)
            measures = own if of_own else tested(batches, distribution.rules).measures
        except NonFiniteError as error:  # the other numbers are still tested
            print(f"after {steps} inner steps: {error}")
            continue
        results[str(steps)] = {name: measure.row() for name, measure in measures.items()}
    return results


def show(results):
    """Prints what `after_steps` returned as a table."""
    table = Table()
    table.add_column("steps", justify="right")
    for name in next(iter(results.values()), {}):
        table.add_column(MEASURES[name].axis, justify="right")
    for steps, rows in results.items():
        table.add_row(steps, *map(shown, rows.values()))
    Console().print(table)


def shown(row):
    """A measure as text: its mean with the interval or, where tasks diverged, its median (the calibration error has none)."""
    if row.get("diverged") and "median" in row:
        return f"median {row['median']:.4g} ({row['diverged']} diverged)"
    return f"{row['value']:.4g}" + (f" ± {row['ci95']:.2g}" if row["ci95"] else "")
