"""Images that a data set holds twice, pixel for pixel: within a split, or in training and test.

python -m stochlwta_tf.tasks.duplicates --config configs/omniglot_5w1s.yaml
"""

import argparse
import hashlib
import sys
from typing import NamedTuple

from rich.console import Console
from rich.table import Table

from stochlwta_tf.errors import ConfigurationError


class Place(NamedTuple):
    """Where an image is: split, class and number within the class."""

    split: str
    label: str
    index: int


def duplicates(banks):
    """Pairs of different images with the same pixels.

    Of images that are the same, each is paired with the first of them.  An image that belongs to two splits (training and validation may
    share a bank) is one image, not two.

    Args:
        banks: A `ClassBank` for each split, as a dict.

    Returns:
        A list of pairs of `Place`.

    Example:

        duplicates({"train": train, "test": test})  # [(Place("train", "a", 3), Place("test", "b", 0))]
    """
    first, found, seen = {}, [], set()
    for split, bank in banks.items():
        for label, start, count in zip(bank.names, bank.first.tolist(), bank.count.tolist(), strict=True):
            for i in range(count):
                image = bank.images[start + i]
                address = image.__array_interface__["data"][0]
                if address in seen:
                    continue
                seen.add(address)
                place = Place(split, label, i)
                other = first.setdefault(hashlib.blake2b(image.tobytes(), digest_size=16).digest(), place)
                if other is not place:
                    found.append((other, place))
    return found


def main(argv=None):
    """Prints the duplicates in the data of a configuration; returns the exit status."""
    from stochlwta_tf.experiment import build, config
    from stochlwta_tf.experiment.exit_status import exit_status

    parser = argparse.ArgumentParser(prog="python -m stochlwta_tf.tasks.duplicates", description="Finds images that occur twice.")
    parser.add_argument("--config", metavar="FILE", required=True, help="a configuration, whose task section says which data")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys")
    arguments = parser.parse_args(argv)

    def report():
        loaded = config.load(arguments.config, arguments.set)
        splits = {split: build.tasks(loaded, split) for split in ("train", "validation", "test")}
        if splits["train"].kind != "classification":
            raise ConfigurationError(f"duplicates are looked for among images. Received: task.name={loaded.task.name}.")
        banks = {split: tasks.bank for split, tasks in splits.items()}
        table = Table("split", "class", "image", "split", "class", "image")
        found = duplicates(banks)
        for pair in found:
            table.add_row(*(str(field) for place in pair for field in place))
        across = sum(a.split != b.split for a, b in found)
        if found:
            Console().print(table)
        print(f"{len(found)} images occur twice, pixel for pixel; {across} of them in two splits.")

    return exit_status(report)


if __name__ == "__main__":
    sys.exit(main())
