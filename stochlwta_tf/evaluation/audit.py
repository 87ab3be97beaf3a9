"""What the scoring of the paper's published code adds to an accuracy, one factor at a time: `evaluate.py --run DIR --audit`.

On one trained model the scoring moves from protocol `original_code` to `standard`.  The first rung of the ladder is the number that the
code prints, where the training has recorded it, or else the trained network's under the published scoring; each further rung undoes one
factor, and the earlier ones stay undone:

    running mean        the mean over all evaluations of the training → the trained network alone
    axis                each class picks its best query → each query picks its best class
    labels              images of one number within their folders → images of one class (mini-ImageNet)
    image replacement   a query may be a support image → it is another image
    class replacement   a task may hold a class twice → its classes differ
    queries             one query of each class → as many as the configuration says

Because the factors interact, the table also shows each one alone, added to the standard scoring (with one query of each class).
"""

import functools
from pathlib import Path
from typing import NamedTuple

import numpy as np

from stochlwta_tf import intervals, metrics
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.evaluation.predictions import predict
from stochlwta_tf.training import build, running_mean
from stochlwta_tf.training.run_folder import command, device_name, replacing, write_json

FACTORS = {
    "axis": "across_queries",
    "labels": "file_number_labels",
    "image replacement": "image_replacement",
    "class replacement": "class_replacement",
}


class Scored(NamedTuple):
    """Accuracies of test tasks `[tasks]`, and the fraction of each task's queries that are among their class's own support images."""

    accuracy: np.ndarray
    leak: np.ndarray


def rescore(config, folder, trained, out=None):
    """Audits a run, writes and prints the table, and draws it.

    Args:
        config: The run's `Configuration`; `evaluation` sets the number of tasks.
        folder: Its `RunFolder`.
        trained: The `TrainedOn` of the run.
        out: The result's file, `audit.json` in the run's folder by default; the figure is written next to it.

    Returns:
        What the file holds, a dictionary.

    Raises:
        ConfigurationError: The run has no classes, or was trained on classes that protocol `standard` tests on.
    """
    distributions = {name: build.under_protocol(config, name, trained)[1] for name in ("original_code", "standard")}
    if config.task.queries < 2:
        raise ConfigurationError(f"an audit ends at more than one query of each class. Received: task.queries={config.task.queries}.")
    learner = build.for_test(build.saved_learner(folder.model, distributions["standard"]), config)

    @functools.cache
    def predicted(drawing, queries):
        tasks = drawn_by(drawing, distributions).variant(queries=queries)
        batches = tasks.batches(config.evaluation.tasks)
        leaks = np.concatenate([leak(tasks.sample(index), tasks.way) for index in batches])[: config.evaluation.tasks]
        return predict(learner, tasks, config.evaluation.tasks, progress=True).whole(), leaks

    def score(rules, queries=1):
        # How predictions are scored does not change them: the axis is changed on the same ones.
        predictions, leaks = predicted(rules._replace(across_queries=False, running_mean=False), queries)
        return Scored(metrics.accuracy_under(rules, predictions.mean, predictions.query_y), leaks)

    result = {
        "name": config.name,
        "iterations": config.training.iterations,
        "seed": config.seed,
        "trained_under": config.protocol,
        "task": config.resolved()["task"],
        "learner": {"name": config.learner.name},
        "tasks": config.evaluation.tasks,
        "way": config.task.way,
        "shot": config.task.shot,
        "ladder": ladder(score, distributions, config.task.queries, running_mean.last(folder.metrics)),
        "alone": alone(score, distributions),
        "data_notes": list(distributions["standard"].notes),
        "device": device_name(),
        "command": command(),
    }
    path = Path(out) if out else folder.path / "audit.json"
    write_json(path, result)
    from stochlwta_tf.figures import audit as audit_figure

    with replacing(path.with_suffix(".png")) as part:
        audit_figure.draw(part, result)
    show(result)
    return result


def drawn_by(rules, distributions):
    """The test tasks of some `Rules`: classes follow the rule for labels, without those that have too few images."""
    tasks = distributions["original_code" if rules.file_number_labels else "standard"]
    bank, needed = tasks.bank, 1 if rules.image_replacement else tasks.shot + 1
    if bank.count.min() < needed:
        bank = bank.subset([name for name, n in zip(bank.names, bank.count, strict=True) if n >= needed])
    return tasks.variant(rules=rules, bank=bank, queries=1)


def leak(batch, way):
    """Fraction of each task's queries whose pixels equal a support image of their class."""
    support, query = (np.asarray(x) for x in (batch.support_x, batch.query_x))
    support, query = (x.reshape(len(x), way, x.shape[1] // way, -1) for x in (support, query))
    same = [np.all(query == support[:, :, k, None], -1) for k in range(support.shape[2])]
    return np.mean(np.any(same, 0), (1, 2))


def ladder(score, distributions, queries, printed):
    """The rungs from the published code's number to the standard protocol's, as dictionaries."""
    rules = distributions["original_code"].rules
    rungs = []
    if printed:
        rungs.append({"factor": None, "accuracy": printed["test"], "ci95": None, "evaluations": printed["evaluations"]})
    last = score(rules)
    rungs.append({"factor": "running mean" if printed else None, **_row(last)})
    if printed:
        rungs[-1]["change"] = rungs[-1]["accuracy"] - printed["test"]
    for factor in applicable(distributions):
        rules = rules._replace(**{FACTORS[factor]: False})
        following = score(rules)
        # All but the axis draw other tasks.
        rungs.append({"factor": factor, **_row(following), **_change(following, last, paired=factor == "axis")})
        last = following
    following = score(rules, queries)
    rungs.append({"factor": "queries", **_row(following), **_change(following, last)})
    return rungs


def alone(score, distributions):
    """Each factor alone, put into the standard scoring with one query of each class, as dictionaries."""
    rules = distributions["standard"].rules
    base = score(rules)
    rows = [{"factor": None, **_row(base)}]
    for factor in applicable(distributions):
        changed = score(rules._replace(**{FACTORS[factor]: True}))
        rows.append({"factor": factor, **_row(changed), **_change(changed, base, paired=factor == "axis")})
    return rows


def applicable(distributions):
    """The factors that differ between the two protocols on this data set; labels do not where the classes are the same."""
    same = distributions["original_code"].bank.names == distributions["standard"].bank.names
    return [factor for factor in FACTORS if not (factor == "labels" and same)]


def _row(scored):
    accuracy, ci95 = intervals.mean_and_ci95(scored.accuracy)
    return {"accuracy": 100 * accuracy, "ci95": 100 * ci95, "leak": 100 * float(scored.leak.mean())}


def _change(new, old, paired=False):
    if paired:
        change, ci95 = intervals.paired_difference(new.accuracy, old.accuracy)
    else:
        (a, ci_a), (b, ci_b) = intervals.mean_and_ci95(new.accuracy), intervals.mean_and_ci95(old.accuracy)
        change, ci95 = a - b, float(np.hypot(ci_a, ci_b))
    return {"change": 100 * change, "change_ci95": 100 * ci95}


def memoriser(leak_percent, way):
    """The accuracy, in percent, of recognising one's support images and guessing otherwise."""
    return leak_percent + (100 - leak_percent) / way


def show(result):
    """Prints the two tables."""
    from rich.console import Console
    from rich.table import Table

    titles = {"ladder": "from the published scoring to the standard one", "alone": "each factor alone, in the standard scoring"}
    print("leak: queries among their class's support images; memoriser: what recognising those, and guessing otherwise, would score")
    print("{name}: {way}-way {shot}-shot, trained under {trained_under}, {tasks} tasks a row".format(**result))
    for part, title in titles.items():
        table = Table("changed", title=title, title_justify="left")
        for column in ("accuracy, %", "change", "leak", "memoriser"):
            table.add_column(column, justify="right")
        for row in result[part]:
            first = "(as the code prints it)" if "evaluations" in row else "(the trained network, published scoring)"
            start = {"ladder": first, "alone": "(standard, one query a class)"}[part]
            interval = f"± {row['ci95']:.1f}" if row["ci95"] is not None else f"({row['evaluations']} evaluations)"
            change = f"{row['change']:+.1f}" if "change" in row else ""
            change += f" ± {row['change_ci95']:.1f}" if "change_ci95" in row else ""
            leaks = (f"{row['leak']:.1f} %", f"{memoriser(row['leak'], result['way']):.1f} %") if "leak" in row else ("", "")
            table.add_row(row["factor"] or start, f"{row['accuracy']:.1f} {interval}", change, *leaks)
        Console().print(table)
