"""Active learning: a learner chooses which examples to label, `evaluate.py --run DIR --active`.

The paper (section 4.3, figure 4c) labels 5 points and then queries 5 more, those with the largest variance over sampled regressors.  The
pool, querying one point at a time and re-adapting each time are our reading.  In each test task a few examples are labelled, and a pool is
unlabelled.  The learner adapts from the meta-learned state to the labelled examples, is tested on the task's queries, queries the label of
one pool example, and adapts again from the meta-learned state.  Strategies are compared on the same tasks, initial examples and pools.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

from stochlwta_tf import intervals, metrics, random
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.evaluation import acquisition
from stochlwta_tf.evaluation.measured import RULE, check
from stochlwta_tf.evaluation.result import described
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import replacing, write_json


def evaluate(config, folder, learner, path=None, classes=None, notes=()):
    """Runs active learning with a trained learner; writes, draws, prints and returns the result.

    Args:
        config: The `Configuration`; its `active_learning` section sets the options.
        folder: The `RunFolder`.
        learner: The trained `MetaLearner`, with the test's options.
        path: The result's file; `active.json` in the folder by default. The figure is written next to it.
        classes: The test classes that the run recorded; see `build.tasks`.
        notes: What the result must state about the data.

    Returns:
        A dictionary; see `docs/regression.md`.

    Raises:
        ConfigurationError: The tasks cannot have a pool, or the strategy does not fit them or the learner.
        DataError: A class has too few images for the pool.
    """
    from stochlwta_tf.figures import active as active_figure

    distribution, labelled, pool = candidates(config, classes)
    measure = learner.likelihood.score_name
    names = acquisition.strategies(config.active_learning.strategy, learner)
    chosen = {name: run(learner, distribution, labelled, pool, name, config) for name in names}
    result = {
        "name": config.name,
        "measure": measure,
        "unit": MEASURES[measure].unit,
        "labelled": [len(labelled) + i for i in range(config.active_learning.queries + 1)],
        "strategies": {name: curve(values, MEASURES[measure].worst) for name, values in chosen.items()},
        **(informed(learner, distribution, labelled, names[0], chosen, config) if len(names) > 1 else {}),
        "tasks": config.evaluation.tasks,
        "diverged_rule": RULE,
        "pool": len(pool),
        "evaluation_seed": config.evaluation.seed,
        **described(config, learner, folder.metrics),
        **({"data_notes": list(notes)} if notes else {}),
    }
    path = Path(path) if path else folder.path / "active.json"
    write_json(path, result)
    with replacing(path.with_suffix(".png")) as part:
        active_figure.draw(part, result)
    show(result)
    return result


def candidates(config, classes=None):
    """Test tasks whose support set holds the first labelled examples and the pool.

    Pool labels are drawn like support labels, with the noise of the setting; the queries are those of the test.

    Returns:
        The `TaskDistribution`, and the positions of the labelled examples and of the pool in its support sets, as arrays.

    Raises:
        ConfigurationError: The tasks cannot have a pool of that size.
    """
    options, values = config.active_learning, config.resolved()
    if options.queries > options.pool:
        raise ConfigurationError(
            f"active_learning.queries must be at most active_learning.pool={options.pool}. Received: {options.queries}."
        )
    changes, labelled = build.tasks(config, "test", classes).pool(options.start, options.pool)
    values["task"] |= changes
    places = np.arange(len(labelled))
    return build.tasks(configuration.from_dict(values, where="active_learning"), "test", classes), places[labelled], places[~labelled]


def run(learner, distribution, labelled, pool, strategy, config):
    """One strategy on the first tasks of a distribution: the measure after each query, `[tasks, queries + 1]`, NaN where a task diverged.

    Raises:
        NonFiniteError: Half of the tasks diverged after a query.
    """
    parts, targets = [], []
    for index in distribution.batches(config.evaluation.tasks):
        tasks = distribution.sample(index)
        # The task's own numbers, the same for every learner and strategy that uses them.
        noise = random.uniform(random.fold_in(tasks.key, 0, Stream.ACTIVE_LEARNING), (len(pool),)).numpy()
        score = noise_score(noise) if strategy == "random" else model_score(learner, acquisition.SCORES[strategy])
        parts.append(learn(learner, tasks, labelled, pool, config.active_learning.queries, score, SCORES[learner.likelihood.score_name])[0])
        targets.append(tasks.query_y.numpy())
    values, targets = (np.concatenate(column)[: config.evaluation.tasks] for column in (parts, targets))
    if learner.likelihood.score_name == "mse":
        values = np.stack([np.where(metrics.diverged(column, column, targets), np.nan, column) for column in values.T], 1)
    for column in np.transpose(values):
        check(np.isnan(column))
    return values


def informed(learner, distribution, labelled, name, chosen, config):
    """How an informed strategy does: its paired difference from random choice, and the rank correlation of its score with the error.

    Returns:
        A dictionary: the `curve` of the difference, and the rank correlation over the test's queries with the initial labels: its mean over
        tasks and half the width of the 95 % interval.
    """
    values = []
    for index in distribution.batches(config.evaluation.tasks):
        tasks = distribution.sample(index)
        draws, mean = predicted(learner, with_support(tasks, np.tile(labelled, (len(tasks.key), 1))))
        y = tasks.query_y.numpy()
        error = ERRORS[learner.likelihood.score_name](mean, y)
        correlation = acquisition.rank_correlation(acquisition.SCORES[name](draws, mean), error)
        values.append(np.where(metrics.diverged(draws), np.nan, correlation))
    values = np.concatenate(values)[: config.evaluation.tasks]
    value, ci95 = intervals.mean_and_ci95(values[~np.isnan(values)])
    return {
        f"{name} - random": curve(chosen[name] - chosen["random"]),
        "rank_correlation": {"of": f"{name} and error over the queries, {len(labelled)} labelled", "value": value, "ci95": ci95},
    }


def with_support(tasks, places):
    """A `Task` batch with the examples at `places`, `[tasks, examples]`, of its support sets."""
    return tasks._replace(**{f: tf.gather(getattr(tasks, f), places, batch_dims=1) for f in ("support_x", "support_y")})


def learn(learner, tasks, labelled, pool, queries, score, measure):
    """Queries one example after another for each task of a batch.

    Args:
        learner: A `MetaLearner`.
        tasks: A `Task` batch, its support sets all candidates.
        labelled, pool: Positions in the support sets.
        queries: How many labels to query.
        score: Function of a `Task` batch whose queries are the pool: `[tasks, pool]`; the largest is queried.
        measure: Function of draws, predictive mean and targets: a number for each task.

    Returns:
        The measure before and after each query, `[tasks, queries + 1]`, and the positions labelled at the end, in order.
    """
    count = len(tasks.key)
    labelled = np.tile(labelled, (count, 1))
    free = np.ones((count, len(pool)), bool)
    pool_x, pool_y = (tf.gather(t, pool, axis=1) for t in (tasks.support_x, tasks.support_y))
    values = []
    for query in range(queries + 1):
        known = with_support(tasks, labelled)
        values.append(measure(*predicted(learner, known), tasks.query_y.numpy()))
        if query < queries:
            best = np.argmax(np.where(free, score(known._replace(query_x=pool_x, query_y=pool_y)), -np.inf), 1)
            free[np.arange(count), best] = False
            labelled = np.concatenate([labelled, pool[best][:, None]], 1)
    return np.stack(values, 1), labelled


def predicted(learner, tasks):
    """Draws (only of the means where the noise is learned) and the predictive mean."""
    outputs = learner.predict_tasks(tasks)
    return np.asarray(learner.likelihood.split(outputs)[0]), learner.predictive(outputs).numpy()


def model_score(learner, score):
    return lambda tasks: score(*predicted(learner, tasks))


def noise_score(noise):
    return lambda tasks: noise


def squared_error(draws, mean, y):
    return metrics.squared_error(draws, y)


def accuracy(draws, mean, y):
    return np.where(metrics.diverged(draws), np.nan, 100 * metrics.accuracy(mean, y))


#: The score of each task by its name, and the error of each query.
SCORES = {"mse": squared_error, "accuracy": accuracy}
ERRORS = {
    "mse": lambda mean, y: np.sum((mean - y) ** 2, -1),
    "accuracy": lambda mean, y: -np.take_along_axis(mean, y[..., None], -1)[..., 0],
}


def curve(values, worst=None):
    """Summary of a measure after each query, as lists.

    Args:
        values: `[tasks, queries + 1]`, NaN where a task diverged; differences of two strategies are paired by task.
        worst: Value of a diverged task in the median; by default it is excluded there too, as for a difference.

    Returns:
        A dictionary: `value` and `ci95`, the mean over the tasks that did not diverge and half of its 95 % interval; `median`, `median_low`
        and `median_high`, the median and its 95 % interval, because a single task whose inner steps go wrong can be most of a mean
        squared error; and `diverged`, how many tasks did.
    """
    rows = []
    for column in np.transpose(values):
        lost = np.isnan(column)
        ranked = column[~lost] if worst is None else np.where(lost, worst, column)
        rows.append((*intervals.mean_and_ci95(column[~lost]), *intervals.median_and_ci95(ranked), int(lost.sum())))
    keys = ("value", "ci95", "median", "median_low", "median_high", "diverged")
    return {key: list(column) for key, column in zip(keys, zip(*rows), strict=True)}


def show(result):
    """Prints a row for each number of labelled examples."""
    from rich.console import Console
    from rich.table import Table

    measure = MEASURES[result["measure"]].axis
    print(f"{result['name']}: {result['tasks']} test tasks, {measure} ± 95 % CI (median) after each query of {result['pool']}")
    columns = {**result["strategies"], **{key: value for key, value in result.items() if key.endswith("- random")}}
    table = Table()
    table.add_column("labelled", justify="right")
    for name in columns:
        table.add_column(f"{name} (median)", justify="right")
    for i, count in enumerate(result["labelled"]):
        table.add_row(str(count), *(f"{c['value'][i]:.4g} ± {c['ci95'][i]:.2g} ({c['median'][i]:.4g})" for c in columns.values()))
    Console().print(table)
    for name, c in columns.items():
        if most := max(c["diverged"]):
            print(f"{name}: up to {most} of {result['tasks']} tasks diverged: {result['diverged_rule']}")
    if found := result.get("rank_correlation"):
        print(f"rank correlation of {found['of']}: {found['value']:.3f} ± {found['ci95']:.3f}; near 0 the score does not rank errors")
