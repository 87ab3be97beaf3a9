"""The test of a trained run: `evaluate.py --run runs/sinusoid_default-seed0`."""

import argparse
import sys
from pathlib import Path

import stochlwta_tf
from stochlwta_tf.cli import report, start
from stochlwta_tf.cli.exit_status import exit_status, stoppable
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.programs import program
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder


def main(argv=None):
    """Evaluates the model of a run folder; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog=program("evaluate.py"), description="Tests a run's trained model on new tasks, or reports on many runs."
    )
    parser.add_argument("--version", action="version", version=f"stochlwta-tf {stochlwta_tf.__version__}")
    parser.add_argument("--run", metavar="DIR", help="the run's folder")
    parser.add_argument("--tasks", metavar="N", help="number of test tasks; short for --set evaluation.tasks=N")
    parser.add_argument(
        "--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys, such as evaluation.draws=10"
    )
    parser.add_argument(
        "--protocol", metavar="NAMES", help="test under these protocols, such as standard,paper,original_code (default: the run's own)"
    )
    parser.add_argument("--out", metavar="FILE", help="the result's file (default: evaluation.json in the run's folder)")
    parser.add_argument("--audit", action="store_true", help="show how much each part of the published code's scoring adds to the accuracy")
    parser.add_argument("--active", action="store_true", help="test active learning as configured in the section active_learning")
    report.add_arguments(parser)
    arguments = start.parsed(parser, argv)
    if report.asked(arguments):
        return exit_status(lambda: report.run(arguments))
    if arguments.run is None:
        parser.error("--run is needed, or --table, --figure or --page with --runs")
    if arguments.active and (arguments.audit or arguments.protocol):
        parser.error("--active cannot be combined with --audit or --protocol")
    return exit_status(lambda: _main(arguments))


def _main(arguments):
    if arguments.out and Path(arguments.out).suffix != ".json":
        raise ConfigurationError(f"a test's --out must end in .json; the figure is written next to it. Received: --out {arguments.out}.")
    folder = RunFolder(arguments.run)
    folder.check_trained()
    if arguments.out:  # what cannot be written is said before the test, which may take hours
        try:
            Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"{arguments.out}: cannot be written: {error.strerror}.") from error
    configuration.read(folder.config, arguments.set)
    start.tensorflow()
    from stochlwta_tf.cli.run_test import run_test
    from stochlwta_tf.evaluation.provenance import configured, trained_on

    run, config = configured(folder, arguments.set, arguments.tasks)
    with stoppable("stopped; this test is lost, files of earlier ones stay."):
        build.runtime(config)
        trained = trained_on(folder, run, config)
        if arguments.audit:
            from stochlwta_tf.evaluation import audit

            audit.rescore(config, folder, trained, arguments.out)
            return
        if arguments.active:
            from stochlwta_tf.evaluation import active_learning

            distribution = build.under_protocol(config, config.protocol, trained)[1]
            learner = build.for_test(build.saved_learner(folder.model, distribution), config)
            active_learning.evaluate(config, folder, learner, arguments.out, trained.test and trained.test.classes, distribution.notes)
            return
        out = Path(arguments.out) if arguments.out else folder.evaluation
        names = arguments.protocol.split(",") if arguments.protocol else [run.protocol]
        for name, (tested, distribution) in {name: build.under_protocol(config, name, trained) for name in names}.items():
            folder.evaluation = out if name == run.protocol else out.with_stem(f"{out.stem}-{name}")
            if arguments.out:
                folder.figure = folder.evaluation.with_suffix(".png")
            run_test(tested, folder, distribution, trained.classes)


if __name__ == "__main__":
    sys.exit(main())
