"""Times of training and prediction: `python -m stochlwta_tf.cli.timing --suite table3 --out results/timing-table3.json`."""

import argparse
import json
import sys
from pathlib import Path

from stochlwta_tf.cli import start
from stochlwta_tf.cli.exit_status import exit_status, stoppable
from stochlwta_tf.config import configuration, identity, suites
from stochlwta_tf.errors import UserError
from stochlwta_tf.measures import measure_of
from stochlwta_tf.programs import program
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import write_json, writing


def main(argv=None):
    """Times configurations; returns the exit status."""
    parser = argparse.ArgumentParser(prog=program("python -m stochlwta_tf.cli.timing"), description=__doc__.splitlines()[0])
    parser.add_argument("--suite", metavar="NAME", help="time every configuration of the suite's columns of times and parameters")
    parser.add_argument("--config", metavar="FILE", nargs="+", action="extend", default=[], help="time these configurations")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys of all of them")
    parser.add_argument("--rounds", type=int, default=30, metavar="N", help="measurements of each (default: 30)")
    parser.add_argument("--out", metavar="FILE", help="the result's file, timing*.json")
    parser.add_argument("--rate", action="store_true", help="print only the seconds of a meta-iteration of one --config, as JSON")
    arguments = start.parsed(parser, argv)
    if bool(arguments.suite) == bool(arguments.config) or (arguments.rate and len(arguments.config) != 1):
        parser.error("give either --suite or --config; with --rate one --config")
    if arguments.rounds < 2:
        parser.error("--rounds must be at least 2")
    return exit_status(lambda: _main(arguments))


def _main(arguments):
    for path in arguments.config:
        configuration.read(path, arguments.set)
    if arguments.suite:
        suites.load(arguments.suite)
    start.tensorflow()
    from stochlwta_tf.evaluation.timing import measure, rate

    if arguments.out:
        with writing(arguments.out):
            Path(arguments.out).parent.mkdir(parents=True, exist_ok=True)
    with stoppable("stopped; nothing was written."):
        if arguments.rate:
            config = configuration.load(arguments.config[0], arguments.set)
            build.runtime(config)
            print(json.dumps(rate(config)))
            return
        if arguments.suite:
            configs = _of_suite(arguments.suite, "timing", arguments.set)
            counted = {key: config for key, config in _of_suite(arguments.suite, "parameters", arguments.set).items() if key not in configs}
            configs, counted = list(configs.values()), list(counted.values())
        else:
            configs, counted = [configuration.load(path, arguments.set) for path in arguments.config], []
        if not configs and not counted:
            raise UserError("none of the suite's columns is a time or a number of parameters with a configuration in this version.")
        # One process has one setting of threads: the first's if all agree, else TensorFlow's own.
        first = (configs + counted)[0]
        if len({json.dumps(config.runtime.model_dump(exclude={"precision"})) for config in (first, *configs)}) > 1:
            values = {**first.resolved(), "runtime": {"device": first.runtime.device}}
            first = configuration.from_dict(values)
        build.runtime(first)
        result = measure(configs, arguments.rounds, counted)
        if arguments.out:
            write_json(Path(arguments.out), result)


def _of_suite(name, source, assignments):
    """The configurations of a suite's cells whose measure has a given source, by their identity."""
    configs = [cell.load(assignments) for cell in suites.load(name).cells() if measure_of(cell.measure).source == source and cell.exists]
    return {json.dumps(identity.timed(config), sort_keys=True): config for config in configs}


if __name__ == "__main__":
    sys.exit(main())
