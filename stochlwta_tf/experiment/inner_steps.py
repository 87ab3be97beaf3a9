"""One test after several numbers of inner steps: `evaluation.steps`."""

from stochlwta_tf.errors import NonFiniteError


def after_steps(learner, counts, test):
    """The measures of a test after each of several numbers of inner steps, on the same tasks with the same noise.

    With no step a prediction is the meta-learned network's; of PLATIPUS still with the support set's gradient in p(theta | S).

    Args:
        learner: A `MetaLearner`.
        counts: Numbers of inner steps.
        test: Function from a learner to its measures, `{name: Measured}`.

    Returns:
        `{str(steps): {name: Measured.row()}}`, keys as JSON has them. Numbers at which half of the tasks diverge are left out and printed.
    """
    results = {}
    for steps in counts:
        try:
            measures = test(learner.with_options(test_inner_steps=steps))
        except NonFiniteError as error:  # does not cost the other numbers
            print(f"after {steps} inner steps: {error}")
            continue
        results[str(steps)] = {name: measure.row() for name, measure in measures.items()}
    return results


def show(results, labels):
    """Prints what `after_steps` returned as a table; `labels` names the measures."""
    from rich.console import Console
    from rich.table import Table

    table = Table()
    table.add_column("steps", justify="right")
    for name, row in next(iter(results.values()), {}).items():
        table.add_column(f"{labels[name]}{', ' + row['unit'] if row['unit'] else ''}", justify="right")
    for steps, rows in results.items():
        table.add_row(steps, *map(shown, rows.values()))
    Console().print(table)


def shown(row):
    """A measure as text: its mean with the interval or, where tasks diverged, its median (the calibration error has none)."""
    if row.get("diverged") and "median" in row:
        return f"median {row['median']:.4g} ({row['diverged']} diverged)"
    return f"{row['value']:.4g} ± {row['ci95']:.2g}"
