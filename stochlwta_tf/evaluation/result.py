"""The content of a test's file: the measures with the paper's numbers, and how they were obtained."""

import numpy as np

from stochlwta_tf import paper
from stochlwta_tf.evaluation.measured import RULE, per_task
from stochlwta_tf.layers.batch_normalization import normalizes
from stochlwta_tf.measures import MEASURES
from stochlwta_tf.memory import peak_memory
from stochlwta_tf.networks import parameters_of
from stochlwta_tf.tasks.protocols import shared
from stochlwta_tf.training import build, running_mean
from stochlwta_tf.training.best import best_of
from stochlwta_tf.training.records import iterations_of, read
from stochlwta_tf.training.run_folder import command, device_name


def result_of(config, learner, distribution, tested, trained, metrics_file):
    """The result of a test, as plain values.

    Args:
        config: The test's `Configuration`.
        learner: The tested `MetaLearner`.
        distribution: The test tasks.
        tested: What was `Tested` on them.
        trained: Names of the classes that the run was trained on.
        metrics_file: The run's `metrics.csv`.
    """
    measures = tested.measures
    main = next(iter(measures))
    resolved, diverged = config.resolved(), measures[main].diverged
    return {
        "name": config.name,
        "measures": beside_the_paper(measures, resolved),
        **({"diverged": {"tasks": diverged, "rule": RULE}} if diverged else {}),
        "tasks": tested.tasks,
        **described(config, learner, metrics_file),
        "evaluation": resolved["evaluation"],
        "parameters": parameters_of(learner),
        "adapt_and_predict": {**time_of(tested.seconds, config.evaluation.batch), **_memory()},
        "training": training_of(config, learner, metrics_file),
        "per_task": {main: per_task(measures[main])},
        **(of_numbers(tested) if distribution.rules is None else of_classes(distribution, trained, metrics_file)),
    }


def beside_the_paper(measures, resolved):
    """The rows of measures with the paper's numbers for a resolved configuration."""
    rows = {name: measure.row() for name, measure in measures.items()}
    for name, row in rows.items():
        if reported := paper.reported(name, resolved):
            row |= {"paper": reported.value, "paper_source": reported.where}
            if not row.get("diverged"):  # a median is not to be compared with the paper's mean
                row["difference"] = row["value"] - reported.value
    return rows


def described(config, learner, metrics_file):
    """The protocol, training and test of a result, as entries of its file.

    Args:
        config: The run's `Configuration`.
        learner: The tested `MetaLearner`.
        metrics_file: The run's `metrics.csv`.
    """
    resolved = config.resolved()
    options = {key: value for key, value in learner.get_config().items() if key in resolved["learner"] and key != "name"}
    return {
        "protocol": config.protocol,
        "batch_statistics": learner.batch_statistics if normalizes(learner.network) else None,
        "iterations": iterations_of(config, metrics_file),
        "seed": config.seed,
        "task": resolved["task"],
        "learner": {"name": config.learner.name, **options},
        "inner_steps": learner.steps_at_test,
        "draws": learner.draws,
        "device": device_name(),
        "command": command(),
    }


def time_of(seconds, batch):
    """How long adapting and predicting took; the first batch, which compiles, separately."""
    rest = seconds[1:] if len(seconds) > 1 else seconds
    return {
        "batch": batch,
        "batches": len(rest),
        "milliseconds_per_task": 1000 * float(np.median(rest)) / batch,
        "first_batch_seconds": float(seconds[0]),
    }


def _memory():
    peak = peak_memory()
    return {} if peak is None else {"peak_memory_mib": peak}


def training_of(config, learner, metrics_file):
    """What the training cost, the last validation, and, with `training.keep_best`, the iteration whose weights are tested and its score.

    Scores are in the units of the measures: accuracies in percent.
    """
    rows, score = read(metrics_file), learner.likelihood.score_name
    found = {name: float(rows[-1][name]) for name in ("seconds", "core_seconds") if rows and rows[-1].get(name)}
    if peaks := [int(row["peak_memory_mib"]) for row in rows if row.get("peak_memory_mib")]:
        found["peak_memory_mib"] = max(peaks)
    validated = [(int(row["iteration"]), float(row[f"val_{score}"])) for row in rows if row.get(f"val_{score}")]
    tested = best_of(rows, learner.likelihood) if config.training.keep_best else validated[-1] if validated else None
    if tested:
        found["validation"] = tested[1] * (100 if MEASURES[score].unit == "%" else 1)
        found |= {"best_iteration": tested[0]} if config.training.keep_best else {}
    return found


def of_numbers(tested):
    """Further entries of a regression result."""
    measures = tested.measures
    return {"noise_std": float(measures["noise_std"].value if "noise_std" in measures else tested.first.noise_std)}


def of_classes(distribution, trained, metrics_file):
    """Further entries of a classification result."""
    names = build.class_names(distribution)
    found = {"classes": {"test": len(names), "also_trained_on": len(shared(trained, names))}}
    if distribution.notes:
        found["data_notes"] = list(distribution.notes)
    if distribution.rules.running_mean and (last := running_mean.last(metrics_file)):
        found["running_mean"] = last
    return found
