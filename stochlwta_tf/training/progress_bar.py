"""The progress of a training on the terminal, or in a log."""

import time

import keras
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

from stochlwta_tf.progress import Lines

_REFRESH = 0.2  # seconds between two looks at the metrics, each of which waits for the device


class ProgressBar(keras.callbacks.Callback):
    """Meta-iterations done, per second, time left, and the latest metrics: a bar, or lines where standard error is not a terminal.

    Args:
        iterations: Of the whole training.
        epoch: Iterations in an epoch.
        done: Iterations done before this start.
    """

    def __init__(self, iterations, epoch, done=0):
        super().__init__()
        self._epoch_length, self._done, self._validated = epoch, done, ""
        self._start = self._next = 0.0
        console = Console(stderr=True)
        columns = (  # on a narrow terminal the metrics are cut, not the counts
            BarColumn(bar_width=10),
            MofNCompleteColumn(table_column=Column(no_wrap=True, min_width=2 * len(str(iterations)) + 1)),
            TextColumn("{task.fields[rate]}", table_column=Column(no_wrap=True, min_width=7)),
            TimeElapsedColumn(table_column=Column(no_wrap=True, min_width=7)),
            TextColumn("left", table_column=Column(no_wrap=True, min_width=4)),
            TimeRemainingColumn(table_column=Column(no_wrap=True, min_width=7)),
            TextColumn("{task.fields[metrics]}", table_column=Column(no_wrap=True, overflow="ellipsis")),
        )
        self._bar = Progress(*columns, console=console, disable=not console.is_terminal)
        self._task = self._bar.add_task("", total=iterations, completed=done, rate="", metrics="compiling")
        self._lines = Lines("Training", iterations)

    def on_train_begin(self, logs=None):
        self._bar.start()
        if self._bar.disable:
            self._lines.update(self._done, f"compiling; numbers follow every {self._epoch_length}")

    def on_epoch_begin(self, epoch, logs=None):
        self._done = epoch * self._epoch_length

    def on_train_batch_end(self, batch, logs=None):
        now, done = time.perf_counter(), self._done + batch + 1
        if not self._start:  # the first execution compiles, and would spoil the rate
            self._start, self._first = now, done
            self._lines.begin(done)
        if not self._bar.disable and now > self._next:
            self._next = now + _REFRESH
            self._show(done, logs, now)

    def on_epoch_end(self, epoch, logs=None):
        done = (epoch + 1) * self._epoch_length
        self._validated = _text({name: value for name, value in logs.items() if name.startswith("val_")}, f" at {done}") or self._validated
        self._show(done, logs, time.perf_counter())

    def _show(self, done, logs, now):
        rate = f"{(done - self._first) / (now - self._start):.1f}/s" if done > self._first else ""
        latest = _text({name: value for name, value in logs.items() if not name.startswith("val_")})
        metrics = "  ".join(filter(None, [latest, self._validated]))
        if self._bar.disable:
            self._lines.update(done, ", ".join(filter(None, [rate, metrics])))
        else:
            self._bar.update(self._task, completed=done, rate=rate, metrics=metrics)

    def close(self):
        """Restores the terminal; also after an error."""
        self._bar.stop()


def _text(logs, when=""):
    return "  ".join(f"{name} {float(value):.4g}{when}" for name, value in logs.items())
