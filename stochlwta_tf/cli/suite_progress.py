"""How far the runs of a suite are that are under way side by side: bars, or lines where standard error is not a terminal."""

import sys

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from stochlwta_tf.progress import Lines
from stochlwta_tf.training.records import read


class NoProgress:
    """Shows nothing: one run after another says itself what begins."""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        pass

    def update(self, done, active):
        pass


class SuiteProgress:
    """The number of runs that have ended, and the iterations of each that is under way, from its `metrics.csv`.

    Args:
        total: Runs of the suite.

    Example:

        with SuiteProgress(12) as shown:
            shown.update(3, active)
    """

    def __init__(self, total):
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(bar_width=20), MofNCompleteColumn(), TimeElapsedColumn())
        # What is printed goes above the bars; to a file, where that is where it goes.
        self._bars = Progress(*columns, console=console, disable=not console.is_terminal, redirect_stdout=_terminal(sys.stdout))
        self._total, self._lines, self._shown = total, Lines("Runs", total), {}

    def __enter__(self):
        self._bars.start()
        self._lines.begin(0)
        self._all = self._bars.add_task("runs", total=self._total)
        return self

    def __exit__(self, *_):
        self._bars.stop()

    def update(self, done, active):
        """Shows how far it is.

        Args:
            done: Runs that have ended.
            active: The `SuiteRun`s under way.
        """
        if self._bars.disable:
            self._lines.update(done, ", ".join(f"{run.folder.name} {_iteration(run)}/{run.iterations}" for run in active if run.iterations))
            return
        self._bars.update(self._all, completed=done)
        for run in [run for run in self._shown if run not in active]:
            self._bars.remove_task(self._shown.pop(run))
        for run in active:
            if run not in self._shown:
                self._shown[run] = self._bars.add_task(run.folder.name, total=None)
            self._bars.update(self._shown[run], total=run.iterations, completed=_iteration(run))


def _iteration(run):
    rows = read(run.folder / "metrics.csv")
    return int(rows[-1]["iteration"]) if rows else 0


def _terminal(stream):
    return stream is not None and stream.isatty()
