"""Training from the command line: `train.py --config configs/sinusoid_default.yaml`."""

import argparse
import sys

from stochlwta_tf.errors import ConfigurationError, NonFiniteError
from stochlwta_tf.experiment import build, data_record
from stochlwta_tf.experiment import config as configuration
from stochlwta_tf.experiment.exit_status import exit_status, stoppable
from stochlwta_tf.experiment.run_folder import RunFolder, replacing

_EPILOG = "Exit status: 0 done, 2 something is wrong with what was given, 3 a loss was not finite, 130 or 143 stopped by a signal."


def main(argv=None):
    """Trains what a configuration describes, saves it and evaluates it; returns the exit status."""
    parser = argparse.ArgumentParser(prog="train.py", description="Meta-trains a learner and evaluates it.", epilog=_EPILOG)
    parser.add_argument("--config", metavar="FILE", help="the configuration; with --resume by default the run's own")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys, such as task.way=20")
    parser.add_argument("--out", metavar="DIR", help="the run's folder (default: runs/<name>-seed<seed>)")
    parser.add_argument("--resume", action="store_true", help="go on with the run in the folder from its last checkpoint, if there is one")
    parser.add_argument("--show", action="store_true", help="print every value with the file it comes from, and sizes; train nothing")
    parser.add_argument("--suite", metavar="NAME", help="make the runs of configs/suites/NAME.yaml; --out is then the folder of them all")
    parser.add_argument("--budget", metavar="B", help="of each new run of a suite: minutes, hours or iterations, such as 10m, 0.5h, 500it")
    parser.add_argument("--columns", metavar="NAME", nargs="+", help="of a suite: only the runs of these columns")
    parser.add_argument("--seeds", metavar="N", nargs="+", type=int, help="of a suite: these instead of its own")
    arguments = parser.parse_args(argv)
    if arguments.suite:
        if arguments.config or arguments.set or arguments.resume or arguments.show:
            parser.error("--suite goes with --budget, --columns, --seeds and --out alone")
        return exit_status(lambda: _suite(arguments))
    if arguments.budget or arguments.columns or arguments.seeds:
        parser.error("--budget, --columns and --seeds need --suite")
    if arguments.config is None and not (arguments.resume and arguments.out):
        parser.error("--config is needed, or --resume with --out")
    return exit_status(lambda: _main(arguments))


def _suite(arguments):
    from stochlwta_tf.experiment import suite

    suite.main(arguments)


def _main(arguments):
    path = arguments.config or RunFolder(arguments.out).config
    if arguments.show:
        from stochlwta_tf.experiment import show

        print(show.text(path, arguments.set))
        return
    config = configuration.load(path, arguments.set)
    folder = RunFolder(arguments.out or configuration.default_folder(config))
    folder.check(config, arguments.resume)
    with stoppable(f"stopped; go on with: train.py --resume --out {folder.path}"):
        train(config, folder)


def train(config, folder):
    """Trains a checked configuration in a run folder, from its last checkpoint on if it has one.

    Args:
        config: A `Configuration`.
        folder: A `RunFolder`; made where it is missing.

    Raises:
        UserError: The configuration cannot be built, the data is not what the run began with, or the folder not written.
        NonFiniteError: A loss or meta-gradient was NaN or infinite.
    """
    build.runtime(config)
    record = data_record.read(folder.data)
    splits = {split: build.tasks(config, split, data_record.classes(record, split)) for split in ("train", "validation", "test")}
    learner = build.learner(config, splits["train"])
    if learner.train_score == "query" and not splits["train"].dataset().element_spec["query_x"].shape[1]:
        raise ConfigurationError(f"the meta-loss of learner.name={config.learner.name} needs task.train_queries of 1 or more. Received: 0.")
    if record is not None:
        data_record.check(folder.data, record, splits)
    elif folder.config.exists() and splits["train"].kind == "classification":
        data_record.unknown(folder.data)
    with folder.alone():
        folder.begin(config, data_record.describe(splits))
        fit(config, folder, learner, splits)
        with replacing(folder.model) as part:
            learner.save(part)
        if config.evaluation.after_training:
            from stochlwta_tf.experiment import evaluate

            evaluate.evaluate(config, folder, splits["test"], build.class_names(splits["train"]))
    print(f"The run is in {folder.path}.")


def fit(config, folder, learner, splits):
    """Meta-trains a compiled learner from the run's last checkpoint to the last iteration."""
    import tensorflow as tf

    from stochlwta_tf.experiment.progress import ProgressBar
    from stochlwta_tf.experiment.records import Checkpoints, MetricsLog
    from stochlwta_tf.experiment.running_mean import RunningMean
    from stochlwta_tf.learners.failure import explain_failure
    from stochlwta_tf.tasks.protocols import PROTOCOLS

    training = config.training
    checkpoints = Checkpoints(folder.checkpoints, learner, training.keep)
    checkpoints.restore()
    done = int(learner.optimizer.iterations)
    log = MetricsLog(folder, done, training.log_every)
    if done == training.iterations:
        return
    bar = ProgressBar(training.iterations, training.log_every, done)
    callbacks = [bar, log, checkpoints]
    if PROTOCOLS[config.protocol].running_mean:
        test = splits["test"].variant(batch=1)
        callbacks.insert(0, RunningMean(test.variant(bank=splits["train"].bank, split="validation"), test, folder.metrics, done))
    validation = {}
    if training.validate_every:
        batches = training.validation_tasks // config.evaluation.batch
        validation = {
            "validation_data": splits["validation"].dataset(0, batches),
            "validation_freq": training.validate_every // training.log_every,
        }
    try:
        learner.fit(
            splits["train"].dataset(done),
            epochs=training.iterations // training.log_every,
            initial_epoch=done // training.log_every,
            steps_per_epoch=training.log_every,
            callbacks=callbacks,
            shuffle=False,
            verbose=0,
            **validation,
        )
    except tf.errors.InvalidArgumentError as error:
        if "not finite" not in error.message:
            raise
        iteration = int(learner.optimizer.iterations)
        term = explain_failure(learner, splits["train"].sample(iteration))
        kept = f"The last good checkpoint is {checkpoints.latest}." if checkpoints.latest else "There is no checkpoint yet."
        raise NonFiniteError(f"not finite at iteration {iteration} (seed {config.seed}): {term}. {kept}") from error
    finally:
        bar.close()


if __name__ == "__main__":
    sys.exit(main())
