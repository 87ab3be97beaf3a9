"""Meta-training: from a configuration and a run folder to the saved model."""

import sys

from stochlwta_tf.config import places
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.learners.non_finite import explain_failure, named_if_not_finite
from stochlwta_tf.tasks.protocols import PROTOCOLS
from stochlwta_tf.training import build, data_record, initial_weights
from stochlwta_tf.training.best import BestWeights, load_best
from stochlwta_tf.training.early_stopping import EarlyStopping, is_over
from stochlwta_tf.training.monitor import Monitor
from stochlwta_tf.training.profile import Profile
from stochlwta_tf.training.progress_bar import ProgressBar
from stochlwta_tf.training.records import Checkpoints, MetricsLog, missing
from stochlwta_tf.training.run_folder import replacing
from stochlwta_tf.training.running_mean import RunningMean
from stochlwta_tf.training.workers import StopTogether, Workers, start


def train(config, folder, workers=None, stages=None):
    """Trains a checked configuration in a run folder, starting from its last checkpoint if it has one.

    Args:
        config: A `Configuration`.
        folder: A `RunFolder`; created if missing.
        workers: The `Workers` that share the training; by default they are started as the configuration says.
        stages: The `Stages` of the start until now, if it is to be profiled.

    Returns:
        The task distribution of each split, as a dictionary.

    Raises:
        UserError: The configuration cannot be built, the data has changed since the run started, or the folder cannot be written; or
            `training.initial_weights` does not fit, or was trained on a class of the test.
        NonFiniteError: A loss or meta-gradient was NaN or infinite.
        WorkerLost: Another process of a training with `runtime.distribution=multi_worker` has ended.
    """
    workers = workers or start(config)
    workers.parts(config)
    record = data_record.read(folder.data)
    splits = {split: build.tasks(config, split, data_record.classes(record, split)) for split in ("train", "validation", "test")}
    if stages:
        stages.end("data")
    learner = build.learner(config, splits["train"], **workers.compile_arguments())
    if learner.train_score == "query" and not splits["train"].dataset().element_spec["query_x"].shape[1]:
        raise ConfigurationError(f"the meta-loss of learner.name={config.learner.name} needs task.train_queries of 1 or more. Received: 0.")
    if record is not None:
        data_record.check(folder.data, record, splits)
        data_record.recall(record, splits)
    elif folder.has_checkpoints() and splits["train"].bank:
        data_record.unknown(folder.data)
    earlier = ()
    if config.training.initial_weights is not None:
        earlier = initial_weights.load(learner, config, splits)
    if stages:
        stages.end("learner")
    if not workers.writes:
        fit(config, None, learner, splits, workers)
        return splits
    with folder.alone():
        folder.begin(config, data_record.describe(splits))
        fit(config, folder, learner, splits, workers, stages)
        if config.training.keep_best:
            load_best(learner, folder)
        task = places.unplaced(config.resolved()["task"])  # a model may be handed on
        learner.trained_on = {"task": task, "classes": (*build.class_names(splits["train"]), *earlier)}
        with replacing(folder.model) as part:
            learner.save(part)
    return splits


def fit(config, folder, learner, splits, workers=None, stages=None):
    """Meta-trains a compiled learner from the run's last checkpoint to the last iteration.

    Args:
        config: A `Configuration`.
        folder: The `RunFolder`; None in a worker process that writes nothing.
        learner: The compiled learner.
        splits: The task distributions.
        workers: The `Workers` that share the training; by default this process with one device.
        stages: The `Stages` of the start until now, if it is to be profiled.
    """
    training, workers = config.training, workers or Workers()
    tasks, tested = workers.parts(config)
    checkpoints, log, over = None, None, False
    if folder is not None:
        checkpoints = Checkpoints(folder.checkpoints, learner, training.max_to_keep)
        checkpoints.restore()
    workers.share([*learner.variables, *learner.optimizer.variables])
    done = int(learner.optimizer.iterations)
    if folder is not None:
        _check_rows(config, folder, done)
        log = MetricsLog(folder, config, done)
        over = is_over(log.rows, training.patience, learner.likelihood, training.start)
    if done == training.iterations or workers.agree(over):
        return
    callbacks = [] if folder is None else _records(config, folder, learner, splits, log, checkpoints)
    if training.patience and workers.several:
        callbacks.append(StopTogether(workers))
    if stages and folder is not None:
        stages.end("records, checkpoint")
        callbacks.append(Profile(stages, folder.tensorboard))
    epochs, validation = training.iterations // training.log_every, {}
    if training.validate_every:
        batches, every = training.validation_tasks // config.evaluation.batch, training.validate_every // training.log_every
        validation = {
            "validation_data": splits["validation"].dataset(0, batches, tested),
            "validation_freq": [*range(every, epochs, every), epochs],  # the last weights, too, whatever the length
        }

    def not_finite():
        iteration = int(learner.optimizer.iterations)
        term = explain_failure(learner, splits["train"].sample(iteration))
        latest = checkpoints and checkpoints.latest
        kept = f"The last good checkpoint is {latest}." if latest else "There is no checkpoint yet."
        return f"not finite at iteration {iteration} (seed {config.seed}): {term}. {kept}"

    try:
        with named_if_not_finite(not_finite), workers.meeting():
            learner.fit(
                splits["train"].dataset(done, part=tasks),
                epochs=epochs,
                initial_epoch=done // training.log_every,
                steps_per_epoch=training.log_every,
                callbacks=callbacks,
                shuffle=False,
                verbose=0,
                **validation,
            )
    finally:
        for callback in callbacks:
            if isinstance(callback, ProgressBar):
                callback.close()


def _records(config, folder, learner, splits, log, checkpoints):
    """The callbacks that show and record a training."""
    training, done = config.training, int(learner.optimizer.iterations)
    best = [BestWeights(folder.best, log.rows, learner.likelihood)] if training.keep_best else []
    bar = ProgressBar(training.iterations, training.log_every, done)
    monitor = Monitor(learner.network, splits["validation"].sample(0) if training.validate_every else None)
    stopping = [EarlyStopping(training.patience, log.rows, learner.likelihood, training.start)] if training.patience else []
    callbacks = [bar, monitor, log, *best, *stopping, checkpoints]
    if PROTOCOLS[config.protocol].running_mean:
        test = splits["test"].variant(batch=1)
        callbacks.insert(0, RunningMean(test.variant(bank=splits["train"].bank, split="validation"), test, folder.metrics, done))
    return callbacks


def _check_rows(config, folder, done):
    """Looks for the rows of `metrics.csv` up to the restored iteration, which a damaged disk may have lost.

    Raises:
        UserError: Rows are missing that the rest of the training depends on.
    """
    first = missing(folder.metrics, done, config.training.log_every)
    if first is None:
        return
    lost = f"{folder.metrics}: missing or damaged from iteration {first} on, but the checkpoint is of iteration {done}"
    needing = {
        "training.keep_best=true": config.training.keep_best,
        f"training.patience={config.training.patience}": config.training.patience,
        f"protocol {config.protocol}": PROTOCOLS[config.protocol].running_mean,
    }
    if any(needing.values()):
        what = next(what for what, needs in needing.items() if needs)
        raise UserError(f"{lost}, and {what} needs all rows; restore the file, or train in another folder with --out.")
    print(f"{lost}; its numbers are lost, the weights are not affected.", file=sys.stderr)
