"""Lists the duplicate images in a configuration's data.

python -m stochlwta_tf.cli.duplicates --config configs/omniglot_5w1s.yaml
"""

import argparse
import sys

from rich.console import Console
from rich.table import Table

from stochlwta_tf.cli import start
from stochlwta_tf.cli.exit_status import exit_status
from stochlwta_tf.config import configuration as config
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.training import build


def main(argv=None):
    """Prints the duplicates in the data of a configuration; returns the exit status."""
    parser = argparse.ArgumentParser(prog="python -m stochlwta_tf.cli.duplicates", description="Finds images that occur twice.")
    parser.add_argument("--config", metavar="FILE", required=True, help="configuration whose task section names the data")
    parser.add_argument("--set", metavar="KEY=VALUE", nargs="+", action="extend", default=[], help="override keys")
    arguments = start.parsed(parser, argv)

    def report():
        config.read(arguments.config, arguments.set)
        start.tensorflow()
        from stochlwta_tf.tasks.duplicates import duplicates

        loaded = config.load(arguments.config, arguments.set)
        if hasattr(loaded.task, "duplicates"):  # they are what is looked for
            loaded = config.load(arguments.config, [*arguments.set, "task.duplicates=keep"])
        splits = {split: build.tasks(loaded, split) for split in ("train", "validation", "test")}
        if not splits["train"].bank:
            raise ConfigurationError(f"only image tasks can be checked for duplicates. Received: task.name={loaded.task.name}.")
        found = duplicates({split: tasks.bank for split, tasks in splits.items()})
        table = Table("split", "class", "image", "split", "class", "image")
        for pair in found:
            table.add_row(*(str(field) for place in pair for field in place))
        if found:
            Console().print(table)
        across = sum(a.split != b.split for a, b in found)
        print(f"Images that occur twice, pixel for pixel: {len(found)}; of them in two splits: {across}.")

    return exit_status(report)


if __name__ == "__main__":
    sys.exit(main())
