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
        "--temperature",
        metavar="T",
        type=float,
        default=1.0,
        help="divide the logits by T, as a test with evaluation.uncertainty=true fits it (default: 1)",
    )
    parser.add_argument("--skip-damaged", action="store_true", help="leave out pictures that cannot be decoded, and name them")
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
    if not 0 < arguments.temperature < float("inf"):
        raise UserError(f"--temperature must be a number above 0. Received: --temperature {arguments.temperature:g}.")
    for place in (arguments.support, *arguments.query):
        if not Path(place).exists():
            raise DataError(f"--support and --query must name pictures or folders of them. Received: {place}, which does not exist.")
    start.tensorflow()
    queries = _pictures(arguments.query)
    import numpy as np

    from stochlwta_tf.inference import load
    from stochlwta_tf.learners.prediction import too_many
    from stochlwta_tf.tasks.picture_files import listed

    learner = load(arguments.run)
    if learner.likelihood.kind != "categorical":
        raise UserError(f"{arguments.run}: predicts targets, not classes; use load() and adapt_to() in Python for it.")
    labelled = listed(Path(arguments.support))
    if labelled.left_out:
        _say(f"--support {arguments.support}: {labelled.left_out}.")
    if wrong := too_many(len({label for label, _ in labelled.pictures}), learner.targets):  # said before pictures are decoded
        raise UserError(f"--support {arguments.support}: {wrong}.")
    if arguments.draws:
        learner = learner.with_options(draws=arguments.draws)
    files = [*labelled.pictures, *((None, file) for file in queries)]  # together, so that all that are damaged are named at once
    pictures = _decoded(learner, files, arguments.skip_damaged)
    support = [(label, x) for label, _, x in pictures if label is not None]
    queries = [(file, x) for label, file, x in pictures if label is None]
    if not support or not queries:
        raise DataError(f"--{'query' if support else 'support'}: no picture is left that can be decoded.")
    (labels, support_x), (queries, query_x) = zip(*support, strict=True), zip(*queries, strict=True)
    statistics = "transductive" if arguments.transductive else "support"
    try:
        adapted = learner.adapt_to(np.stack(support_x), labels, arguments.seed, statistics)
    except ValueError as error:
        raise UserError(f"--support {arguments.support}: {str(error).rstrip('.')}.") from error
    prediction = adapted.predict(np.stack(query_x), arguments.temperature)
    rows = _rows(queries, prediction, learner.draws_differ)
    if arguments.out:
        write_text(Path(arguments.out), rows)
        print(f"Pictures labelled in {arguments.out}: {len(queries)}.")
    else:
        print(rows, end="")


def _say(line):
    print(line, file=sys.stderr)


def _decoded(learner, files, skip_damaged):
    """Triples (label, file, pixels) of pairs (label, file); of pictures that are damaged, a line or an error."""
    from stochlwta_tf.inference.pictures import read_each

    found = [(label, file, x) for (label, file), x in zip(files, read_each(learner, [file for _, file in files]), strict=True)]
    damaged = [x for _, _, x in found if isinstance(x, str)]
    if damaged and not skip_damaged:
        raise DataError(
            f"{len(damaged)} of {len(files)} pictures cannot be used; --skip-damaged goes without. Received: {' '.join(damaged)}"
        )
    for line in damaged:
        _say(f"skipped: {line}")
    return [(label, file, x) for label, file, x in found if not isinstance(x, str)]


def _pictures(places):
    """The files among files and folders, sorted within a folder; raises a DataError for a folder without pictures."""
    from stochlwta_tf.tasks.picture_files import others_in, pictures_in

    found = []
    for place in map(Path, places):
        inside = [place] if place.is_file() else pictures_in(place)
        if not inside:
            raise DataError(f"--query {place}: must hold pictures. Received: none.")
        if not place.is_file() and (others := others_in(place, inside)):
            _say(f"--query {place}: left out, as no pictures: {others}.")
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
