"""The reports of `evaluate.py`: tables, figures and the page of results from many runs, and of one run its page and its pictures."""

import sys
from pathlib import Path

from stochlwta_tf.cli import start
from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.training.run_folder import RunFolder, replacing, write_text

_PAGES = {"markdown": "README.md", "html": "index.html"}
_TABLES = ("1", "2", "3", "4", "5", "6", "D1", "D2")


def add_arguments(parser):
    """Adds the report's options to the parser of `evaluate.py`."""
    group = parser.add_argument_group("reports from the runs in a folder")
    group.add_argument("--table", metavar="NAME", help=f"the paper's table {', '.join(_TABLES)}, or the name or file of a suite")
    group.add_argument("--figure", metavar="NAME", help="the paper's figure 2, 3a, 3b, 3c, …, written to --out FILE.png or .svg")
    group.add_argument("--page", action="store_true", help="the page of all results; without --out RUNS/README.md or RUNS/index.html")
    group.add_argument("--runs", metavar="DIR", default="results", help="folder searched for runs, at any depth (default: results)")
    group.add_argument(
        "--format",
        default="markdown",
        metavar="F",
        help="markdown (the default), csv or latex for a table, markdown or html for the page",
    )
    group = parser.add_argument_group("a report of --run, and pictures of its network")
    group.add_argument("--html", action="store_true", help="the run's page, one file; without --out report.html in its folder")
    group.add_argument("--reliability", action="store_true", help="reliability diagram: accuracy by confidence")
    group.add_argument("--winners", action="store_true", help="how often each competing unit wins, by class and layer")


def asked(arguments):
    """Whether the command line asks for a report."""
    return bool(arguments.table or arguments.figure or arguments.page or arguments.html or arguments.reliability or arguments.winners)


def run(arguments):
    """Makes the report.

    Raises:
        UserError: The arguments or the runs are invalid.
    """
    wanted = [name for name in ("table", "figure", "page", "html", "reliability", "winners") if getattr(arguments, name)]
    if len(wanted) > 1:
        raise ConfigurationError(f"one report at a time. Received: --{' --'.join(wanted)}.")
    if wanted[0] == "html":
        from stochlwta_tf.cli import run_report

        run_report.report(arguments)
        return
    if wanted[0] in ("reliability", "winners"):
        if arguments.run is not None:
            RunFolder(arguments.run).check_trained()
            start.tensorflow()
        from stochlwta_tf.cli import network_pictures

        network_pictures.report(wanted[0], arguments)
        return
    if arguments.run:
        raise ConfigurationError(f"--{wanted[0]} takes many runs: --runs DIR instead of --run. Received: --run {arguments.run}.")
    {"table": _table, "figure": _figure, "page": _page}[wanted[0]](arguments)


def _table(arguments):
    from stochlwta_tf.config import suites
    from stochlwta_tf.report import collect, render, tables

    if arguments.format not in render.FORMATS:
        raise ConfigurationError(f"--format must be {', '.join(render.FORMATS)}. Received: --format {arguments.format}.")
    name = arguments.table
    suite = suites.load(f"table{name}" if name in _TABLES else name)
    start.tensorflow()
    collected = collect.read(arguments.runs)
    table = tables.fill(suite, collected)
    collect.warn((*collected.problems, *table.notes))
    text = render.FORMATS[arguments.format](table)
    if arguments.out:
        write_text(_into(arguments.out), text)
    else:
        print(text, end="")


def _figure(arguments):
    start.tensorflow()
    from stochlwta_tf.report import collect
    from stochlwta_tf.report.paper_figures import FIGURES

    if arguments.figure not in FIGURES:
        raise ConfigurationError(f"--figure must be {', '.join(FIGURES)}. Received: --figure {arguments.figure}.")
    out = _picture(arguments.out)
    collected = collect.read(arguments.runs)
    with replacing(_into(out)) as part:
        lines = FIGURES[arguments.figure](collected, part, out.suffix[1:])
    collect.warn(collected.problems)
    for line in lines:
        print(line, file=sys.stderr)
    print(f"The figure is {out}.")


def _page(arguments):
    if arguments.format not in _PAGES:
        raise ConfigurationError(f"--format of --page must be {', '.join(_PAGES)}. Received: --format {arguments.format}.")
    start.tensorflow()
    from stochlwta_tf.report import collect, page, results_page

    runs = Path(arguments.runs)
    collected = collect.read(runs)
    text, notes = (results_page if arguments.format == "html" else page).text(collected, runs)
    collect.warn((*collected.problems, *notes))
    out = _into(arguments.out or runs / _PAGES[arguments.format])
    write_text(out, text)
    print(f"The page is {out}.")


def _picture(out):
    if out is None or Path(out).suffix not in (".png", ".svg"):
        raise ConfigurationError(f"a figure needs --out FILE.png or FILE.svg. Received: --out {out}.")
    return Path(out)


def _into(out):
    """The path, whose folder is created if missing."""
    out = Path(out)
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{out.parent}: cannot be created: {error.strerror}.") from error
    return out
