"""Training from the command line: `train.py --config configs/sinusoid_default.yaml`."""

import argparse
import json
import sys

import stochlwta_tf
from stochlwta_tf.cli import restart, start
from stochlwta_tf.cli.exit_status import exit_status, stoppable
from stochlwta_tf.config import configuration, suites
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.programs import program
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.stages import Stages

_EPILOG = "Exit status: 0 done, 2 invalid input, 3 a loss was not finite, 130 or 143 stopped by a signal."


def main(argv=None):
    """Trains what a configuration describes, saves it and evaluates it; returns the exit status."""
    parser = argparse.ArgumentParser(prog=program("train.py"), description="Meta-trains a learner and evaluates it.", epilog=_EPILOG)
    parser.add_argument("--config", metavar="FILE", help="configuration file, or the name of one; with --resume the run's own by default")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys, such as task.way=20")
    parser.add_argument("--out", metavar="DIR", help="the run's folder (default: runs/<name>-seed<seed>)")
    parser.add_argument("--resume", action="store_true", help="resume the run in --out from its last checkpoint, if there is one")
    parser.add_argument("--extend", metavar="N", type=int, help="let the finished run in --out go on for N more iterations")
    parser.add_argument("--from", metavar="RUN", help="start from the weights of a run's folder or a .keras file")
    parser.add_argument("--show", action="store_true", help="print every value with the file it comes from, and sizes; train nothing")
    parser.add_argument(
        "--list",
        metavar="NAME",
        nargs="?",
        const=True,
        help="list what can be named (with --config, what that imports too), or the options of one",
    )
    parser.add_argument("--profile", action="store_true", help="print where the time of the start goes, and write a trace for TensorBoard")
    parser.add_argument("--version", action="version", version=f"stochlwta-tf {stochlwta_tf.__version__}")
    parser.add_argument("--suite", metavar="NAME", help="train the runs of configs/suites/NAME.yaml, into folders under --out")
    parser.add_argument("--budget", metavar="B", help="with --suite: length of each new run, such as 10m, 0.5h or 500it (iterations)")
    parser.add_argument("--columns", metavar="NAME", nargs="+", help="with --suite: only the runs of these columns")
    parser.add_argument("--rows", metavar="LABEL", nargs="+", help="with --suite: only the runs of these rows, such as FOMAML")
    parser.add_argument("--seeds", metavar="N", nargs="+", type=int, help="with --suite: run these seeds instead of the suite's")
    parser.add_argument("--jobs", metavar="N", type=int, help="with --suite: runs at a time, each with its share of the cores (default: 1)")
    parser.add_argument("--launcher", choices=["local", "ray"], help="with --suite: where the runs are made (default: local)")
    arguments = start.parsed(parser, argv)
    if (start_from := vars(arguments)["from"]) is not None:
        arguments.set.append(f"training.initial_weights={json.dumps(start_from)}")
    if arguments.list is not None:
        return exit_status(lambda: _list(None if arguments.list is True else arguments.list, arguments.config))
    if arguments.suite:
        if arguments.config or arguments.set or arguments.resume or arguments.show or arguments.profile:
            parser.error("--suite can only be combined with --budget, --columns, --rows, --seeds, --jobs, --launcher and --out")
        if arguments.jobs is not None and arguments.jobs < 1:
            parser.error("--jobs must be at least 1")
        return exit_status(lambda: _suite(arguments))
    if any((arguments.budget, arguments.columns, arguments.rows, arguments.seeds, arguments.jobs, arguments.launcher)):
        parser.error("--budget, --columns, --rows, --seeds, --jobs and --launcher need --suite")
    if arguments.extend is not None:
        if arguments.config or arguments.set or arguments.show or arguments.out is None or arguments.extend < 1:
            parser.error("--extend needs a number of 1 or more and --out, and cannot be combined with --config, --set, --from or --show")
        return exit_status(lambda: _extend(arguments))
    if arguments.config is None and not (arguments.resume and arguments.out):
        parser.error("--config is needed, or --resume with --out, or --extend with --out")
    return exit_status(lambda: _main(arguments))


def _list(name, config):
    modules = configuration.read(config, []).get("import", ()) if config else ()
    start.tensorflow()
    from stochlwta_tf.cli import listing

    print(listing.text(name, modules))


def _suite(arguments):
    suites.load(arguments.suite)
    start.tensorflow()
    from stochlwta_tf.cli import suite_runner as suite

    suite.main(arguments)


def _extend(arguments):
    folder = RunFolder(arguments.out)
    configuration.read(folder.config)
    start.tensorflow()
    from stochlwta_tf.training import extension

    config = extension.extended(folder, arguments.extend)
    if config.runtime.distribution == "multi_worker":
        raise ConfigurationError("--extend is for one process. Received: runtime.distribution=multi_worker.")
    extension.begin(folder, config)
    _train(config, folder)


def _main(arguments):
    path = arguments.config or RunFolder(arguments.out).config
    configuration.read(path, arguments.set)  # what is wrong with a file itself is said before TensorFlow is loaded
    stages = Stages()
    stages.end("Python, the configuration's file")
    start.tensorflow()
    stages.end("loading TensorFlow and Keras")
    if arguments.show:
        from stochlwta_tf.cli import show

        print(show.text(path, arguments.set))
        return
    config = configuration.load(path, arguments.set)
    folder = RunFolder(arguments.out or configuration.default_folder(config))
    # Workers have one command, also when they are started again.
    folder.check(config, arguments.resume or config.runtime.distribution == "multi_worker")
    stages.end("configuration")
    _train(config, folder, stages if arguments.profile else None)


def _train(config, folder, stages=None):
    from stochlwta_tf.cli.run_test import run_test
    from stochlwta_tf.evaluation.provenance import trained_on
    from stochlwta_tf.training import workers
    from stochlwta_tf.training.train import train

    if stages:
        stages.end("further modules")
    with stoppable(f"stopped; resume with: {program('train.py')} --resume --out {folder.path}"):
        try:
            sharing = workers.start(config)
            splits = train(config, folder, sharing, stages)
        except workers.WorkerLost as lost:
            restart.again(lost)
        if config.evaluation.after_training and sharing.writes:
            run_test(config, folder, splits["test"], trained_on(folder, config, config).classes)
        sharing.end()
    print(f"The run is in {folder.path}.")


if __name__ == "__main__":
    sys.exit(main())
