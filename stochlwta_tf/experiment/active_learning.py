"""Active learning: a learner labels a few examples of its own choice, `evaluate.py --run DIR --active`.

The paper's section 4.3 (figure 4c) gives no details; this is our reading.  Of each test task a few examples are labelled and a pool is
not.  The learner adapts from the meta-learned state to what is labelled, is tested on the task's queries, asks for the label of one
example of the pool, and begins again from the meta-learned state.  Strategies are compared on the same tasks, first examples and pools.
"""

from pathlib import Path

import numpy as np
import tensorflow as tf

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.experiment import acquisition, build, metrics
from stochlwta_tf.experiment import config as configuration
from stochlwta_tf.experiment.predictions import check_finite
from stochlwta_tf.experiment.run_folder import replacing, write_json
from stochlwta_tf.experiment.tested import described

_START = 5  # labelled points of a regression task


def active(config, folder, learner, path=None):
    """Runs a configuration's active learning with a trained learner; writes, draws, prints and returns the result.

    Args:
        config: The `Configuration`; its `active_learning` section says how.
        folder: The `RunFolder`.
        learner: The trained `MetaLearner`, with the test's options.
        path: The result's file; `active.json` in the folder by default. The figure stands beside it.

    Returns:
        A dictionary; see `docs/regression.md`.

    Raises:
        ConfigurationError: The tasks have no pool, or the strategy does not suit them or the learner.
        DataError: A class has too few images for the pool.
    """
    from stochlwta_tf.report import active_figure

    distribution, labelled, pool = candidates(config)
    kind = distribution.kind
    names = acquisition.strategies(config.active_learning.strategy, kind, learner)
    chosen = {name: run(learner, distribution, labelled, pool, name, config) for name in names}
    result = {
        "name": config.name,
        "measure": "mse" if kind == "regression" else "accuracy",
        "unit": "" if kind == "regression" else "%",
        "labelled": [len(labelled) + i for i in range(config.active_learning.queries + 1)],
        "strategies": {name: intervals(values) for name, values in chosen.items()},
        **(informed(learner, distribution, labelled, names[0], chosen, config) if len(names) > 1 else {}),
        "tasks": config.evaluation.tasks,
        "pool": len(pool),
        "evaluation_seed": config.evaluation.seed,
        **described(config, learner),
    }
    path = Path(path) if path else folder.path / "active.json"
    write_json(path, result)
    with replacing(path.with_suffix(".png")) as part:
        active_figure.draw(part, result)
    show(result)
    return result


def candidates(config):
    """Test tasks whose support set holds the first labelled examples and the pool.

    The labels of the pool are so drawn as any support label, with the noise of the setting; the queries are the test's.

    Returns:
        The `TaskDistribution`, and the places in its support sets of the labelled examples and of the pool, as arrays.

    Raises:
        ConfigurationError: The tasks cannot have a pool of that size.
    """
    options, values = config.active_learning, config.resolved()
    task = values["task"]
    if task.get("protocol") == "original_code":
        raise ConfigurationError("active learning needs images without replacement. Received: protocol original_code.")
    if options.queries > options.pool:
        raise ConfigurationError(
            f"active_learning.queries must be at most active_learning.pool={options.pool}. Received: {options.queries}."
        )
    if "points" in task:
        start = _START if options.start is None else options.start
        task["points"] = start + options.pool
        places = np.arange(task["points"])
        labelled = places < start
    elif "shot" in task:
        way, start = task["way"], task["shot"] if options.start is None else options.start
        if options.pool % way:
            raise ConfigurationError(f"active_learning.pool must be a multiple of task.way={way}. Received: {options.pool}.")
        task["shot"] = start + options.pool // way
        places = np.arange(way * task["shot"])
        labelled = places % task["shot"] < start  # images come in the order of their classes
    else:
        raise ConfigurationError(f"active learning needs tasks with points or shots. Received: task.name={task['name']}.")
    return build.tasks(configuration.from_dict(values, where="active_learning"), "test"), places[labelled], places[~labelled]


def run(learner, distribution, labelled, pool, strategy, config):
    """One strategy on the first tasks of a distribution: the measure after each query, `[tasks, queries + 1]`."""
    parts = []
    for index in distribution.batches(config.evaluation.tasks):
        # The same numbers for every learner and strategy that uses them.
        noise = np.random.default_rng([config.evaluation.seed, index]).random((distribution.batch, len(pool)))
        score = noise_score(noise) if strategy == "random" else model_score(learner, acquisition.SCORES[strategy])
        measure = squared_error if distribution.kind == "regression" else accuracy
        parts.append(learn(learner, distribution.sample(index), labelled, pool, config.active_learning.queries, score, measure)[0])
    return np.concatenate(parts)[: config.evaluation.tasks]


def informed(learner, distribution, labelled, name, chosen, config):
    """What an informed strategy is worth: its paired difference from random choice, and whether its score ranks the errors at all.

    Returns:
        A dictionary: the `intervals` of the difference, and the rank correlation of the score with the error over the test's queries, with
        the first labels, its mean over tasks and half of the 95 % interval.
    """
    values = []
    for index in distribution.batches(config.evaluation.tasks):
        tasks = distribution.sample(index)
        draws, mean = predicted(learner, with_support(tasks, np.tile(labelled, (len(tasks.key), 1))))
        y = tasks.query_y.numpy()
        error = np.sum((mean - y) ** 2, -1) if distribution.kind == "regression" else -np.take_along_axis(mean, y[..., None], -1)[..., 0]
        values.append(acquisition.rank_correlation(acquisition.SCORES[name](draws, mean), error))
    value, ci95 = intervals.mean_and_ci95(np.concatenate(values)[: config.evaluation.tasks])
    return {
        f"{name} - random": intervals(chosen[name] - chosen["random"]),
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
        labelled, pool: Places in the support sets.
        queries: How many examples to ask about.
        score: Function of a `Task` batch whose queries are the pool: `[tasks, pool]`, the largest is asked about.
        measure: Function of draws, predictive mean and targets: a number for each task.

    Returns:
        The measure before and after each query, `[tasks, queries + 1]`, and the places labelled in the end, in order.
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
    """Draws, of the means alone where the noise is learned, and the predictive mean."""
    outputs = learner.predict_tasks(tasks)
    check_finite(outputs.numpy())
    return np.asarray(learner.likelihood.split(outputs)[0]), learner.predictive(outputs).numpy()


def model_score(learner, score):
    return lambda tasks: score(*predicted(learner, tasks))


def noise_score(noise):
    return lambda tasks: noise


def squared_error(draws, mean, y):
    return metrics.squared_error(draws, y)


def accuracy(draws, mean, y):
    return 100 * metrics.accuracy(mean, y)


def intervals(values):
    """Mean over tasks, half of its 95 % interval, and median, after each query, as lists; of differences the interval is the paired one.

    The median, because a single task whose inner steps diverge can be most of a mean squared error.
    """
    pairs = [intervals.mean_and_ci95(column) for column in np.transpose(values)]
    return {"value": [value for value, _ in pairs], "ci95": [ci95 for _, ci95 in pairs], "median": np.median(values, 0).tolist()}


def show(result):
    """Prints a row for each number of labelled examples."""
    from rich.console import Console
    from rich.table import Table

    measure = f"{result['measure']}, {result['unit']}" if result["unit"] else result["measure"]
    print(f"{result['name']}: {result['tasks']} test tasks, {measure} ± 95 % CI after each query of {result['pool']}")
    columns = {**result["strategies"], **{key: value for key, value in result.items() if key.endswith("- random")}}
    table = Table()
    table.add_column("labelled", justify="right")
    for name in columns:
        table.add_column(f"{name} (median)", justify="right")
    for i, count in enumerate(result["labelled"]):
        table.add_row(str(count), *(f"{c['value'][i]:.4g} ± {c['ci95'][i]:.2g} ({c['median'][i]:.4g})" for c in columns.values()))
    Console().print(table)
    if found := result.get("rank_correlation"):
        print(f"rank correlation of {found['of']}: {found['value']:.3f} ± {found['ci95']:.3f}; without any it is no guide")
