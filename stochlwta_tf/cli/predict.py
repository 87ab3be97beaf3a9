"""Labels for pictures in folders: `predict.py --run runs/birds-seed0 --support labelled --query unlabelled`."""

import argparse
import csv
import io
import sys
from pathlib import Path

import stochlwta_tf
from stochlwta_tf.cli import start
from stochlwta_tf.cli.exit_status import exit_status
from stochlwta_tf.errors import DataError, UserError
from stochlwta_tf.programs import program
from stochlwta_tf.training.run_folder import write_text

_EPILOG = """The label of a support picture is the name of its folder. A row has the file, its label, the entropy of the probabilities
in nats (0: certain), the mutual information of draws and label where draws differ, and the probability of each class."""


def main(argv=None):
    """Adapts a trained model to labelled pictures and labels others; returns the exit status."""
    parser = argparse.ArgumentParser(
        prog=program("predict.py"), description="Labels pictures, given a few labelled ones of each class.", epilog=_EPILOG
    )
    parser.add_argument("--version", action="version", version=f"stochlwta-tf {stochlwta_tf.__version__}")
    parser.add_argument("--run", metavar="DIR", required=True, help="the run's folder, a .keras file, or the name of a trained model")
    parser.add_argument("--support", metavar="FOLDER", required=True, help="a folder of labelled pictures for each class, or a CSV file")
    parser.add_argument("--query", metavar="FOLDER", nargs="+", required=True, help="pictures to label, or folders of them")
    parser.add_argument("--out", metavar="CSV", help="write the rows to this file instead of the terminal")
    parser.add_argument("--draws", metavar="N", type=int, help="draws that a prediction averages (default: the model's own)")
    parser.add_argument("--seed", metavar="N", type=int, default=0, help="seed of the model's noise (default: 0)")
    parser.add_argument(
        "--transductive",
        action="store_true",
        help="normalise the queries by their own statistics: only for queries of all classes together",
    )
    arguments = start.parsed(parser, argv)
    return exit_status(lambda: _main(arguments))


def _main(arguments):
    if arguments.draws is not None and arguments.draws < 1:
        raise UserError(f"--draws must be 1 or more. Received: --draws {arguments.draws}.")
    if not 0 <= arguments.seed < 2**32:
        raise UserError(f"--seed must be from 0 to 2^32 − 1. Received: --seed {arguments.seed}.")
    for place in (arguments.support, *arguments.query):
        if not Path(place).exists():
            raise DataError(f"--support and --query must name pictures or folders of them. Received: {place}, which does not exist.")
    start.tensorflow()
    queries = _pictures(arguments.query)
    from stochlwta_tf.inference import load, read_pictures
    from stochlwta_tf.tasks.picture_files import listed

    learner = load(arguments.run)
    if learner.likelihood.kind != "categorical":
        raise UserError(f"{arguments.run}: predicts targets, not classes; use load() and adapt_to() in Python for it.")
    support = listed(Path(arguments.support)).pictures
    if arguments.draws:
        learner = learner.with_options(draws=arguments.draws)
    names = [label for label, _ in support]
    x = read_pictures(learner, [*(file for _, file in support), *queries])  # together, so that all that are damaged are named at once
    statistics = "transductive" if arguments.transductive else "support"
    try:
        adapted = learner.adapt_to(x[: len(support)], names, arguments.seed, statistics)
    except ValueError as error:
        raise UserError(f"--support {arguments.support}: {str(error).rstrip('.')}.") from error
    rows = _rows(queries, adapted.predict(x[len(support) :]), learner.draws_differ)
    if arguments.out:
        write_text(Path(arguments.out), rows)
        print(f"{len(queries)} pictures are labelled in {arguments.out}.")
    else:
        print(rows, end="")


def _pictures(places):
    """The files among files and folders, sorted within a folder; raises a DataError for a folder without pictures."""
    from stochlwta_tf.tasks.picture_files import pictures_in

    found = []
    for place in map(Path, places):
        inside = [place] if place.is_file() else sorted(pictures_in(place))
        if not inside:
            raise DataError(f"--query {place}: must hold pictures. Received: none.")
        found += inside
    return found


def _rows(queries, prediction, draws_differ):
    """The predictions as CSV."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    numbers = {"entropy": prediction.entropy}
    if draws_differ:
        numbers["mutual_information"] = prediction.mutual_information
    numbers |= {f"p({name})": column for name, column in zip(prediction.classes, prediction.probabilities.T, strict=True)}
    writer.writerow(["file", "label", *numbers])
    for file, label, *row in zip(queries, prediction.labels, *numbers.values(), strict=True):
        writer.writerow([file, label, *(f"{number:.4f}" for number in row)])
    return text.getvalue()


if __name__ == "__main__":
    sys.exit(main())
