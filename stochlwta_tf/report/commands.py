"""The command lines that fill the cells of tables."""

import shlex
from pathlib import Path

from stochlwta_tf.config import configuration, identity
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.programs import words

RUNS = "results/runs"  # where suites put their runs


def run_command(cell, group, runs, config=None):
    """The command line that fills a cell of a group with its first seed, given what its folder already has.

    Args:
        cell: A `Cell` whose configuration is in this version.
        group: The `Group`, or None for the configuration's own.
        runs: The folder of all runs.
        config: The cell's `Configuration`, if it is already loaded.
    """
    config, seed = config or cell.load(), cell.suite.seeds[0]
    own = {"task.protocol": config.protocol, "learner.batch_statistics": config.learner.batch_statistics}
    wanted = {"task.protocol": group.trained, "learner.batch_statistics": group.statistics} if group else {}
    other = {key: value for key, value in wanted.items() if value not in (None, own[key])}
    more = [*([f"seed={seed}"] if seed else []), *(f"{key}={value}" for key, value in other.items())]
    assignments = [*cell.assignments, *more]
    results, place = Path(RUNS).parts  # suites put runs in a folder of their own in `results`
    folder = (runs / place if runs.name == results else runs) / "-".join([config.name, f"seed{seed}", *other.values()])
    if not _holds(folder, cell, more):
        folder = folder.with_name(f"{folder.name}-2")
    test = ["evaluate.py", "--run", str(folder)]
    if (folder / "model.keras").exists():
        steps = []
    elif (folder / "config.yaml").exists():
        steps = [["train.py", "--resume", "--out", str(folder)]]
    else:
        steps = [["train.py", "--config", cell.config, *(["--set", *assignments] if assignments else []), "--out", str(folder)]]
    if cell.test_assignments:
        steps.append(test_command(cell, folder))
    elif group and group.protocol != group.trained:
        steps.append([*test, "--protocol", group.protocol])
    return " && ".join(shlex.join(words(*step)) for step in steps or [test])


def _holds(folder, cell, more):
    """Whether a folder is free for the run of a cell with these settings, or already has it."""
    if not (folder / "config.yaml").exists():
        return True
    try:
        return identity.run(configuration.load(folder / "config.yaml")) == identity.run(cell.load(more))
    except ConfigurationError:
        return False


def test_command(cell, folder):
    """The arguments of Python that run a cell's further test of a trained run."""
    active = ["--active"] if cell.suite.active else []
    return ["evaluate.py", "--run", str(folder), *active, "--set", *cell.test_assignments, "--out", f"{folder}/{test_file(cell)}"]


def test_file(cell):
    """Name of the file of a cell's result in its run's folder."""
    if cell.suite.active:
        return f"active-{cell.suite.file}.json"
    return f"evaluation{suffix(cell.row.test)}.json"


def suffix(options):
    """What the name of a test's file ends in, for the options that are otherwise in the test.

    Example:

    >>> suffix({"batch_statistics": "support", "task.shot": 5})
    '-batch_statisticssupport-shot5'
    """
    return "".join(f"-{key.rpartition('.')[2]}{value}" for key, value in options.items())


def timing_command(suite, runs):
    """The command line that times all of a suite's configurations."""
    return f"python -m stochlwta_tf.cli.timing --suite {suite.file} --out {shlex.quote(str(runs / f'timing-{suite.file}.json'))}"
