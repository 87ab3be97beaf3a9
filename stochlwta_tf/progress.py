"""Progress of long work: a bar where standard error is a terminal, elsewhere a line now and then."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import track

_EVERY = 30.0  # seconds between two lines
_Item = TypeVar("_Item")


class Lines:
    """Lines for a file or a job's log: the first at once, then one in half a minute, and the last.

    Args:
        title: What is done.
        total: How much there is of it.

    Example:

    >>> lines = Lines("Testing", 600)
    >>> lines.begin(50)  # of which the first compiled
    >>> lines.update(100, "0.71 s a task")
    """

    def __init__(self, title: str, total: int) -> None:
        self._title, self._total = title, total
        self._begun, self._next = (0.0, 0), 0.0

    def begin(self, done: int) -> None:
        """Starts the clock for the time left, once what compiles, or was done in an earlier start, is done."""
        self._begun = time.perf_counter(), done

    def update(self, done: int, text: str = "") -> None:
        """Says how far it is, if it is time to."""
        now = time.perf_counter()
        if now < self._next and done < self._total:
            return
        self._next = now + _EVERY
        start, first = self._begun
        known = start and first < done < self._total
        left = f"{_clock((now - start) / (done - first) * (self._total - done))} left" if known else ""
        print(", ".join(filter(None, [f"{self._title}: {done}/{self._total}", left, text])), file=sys.stderr, flush=True)


def tracked(items: Iterable[_Item], title: str, total: int, size: int = 1) -> Iterator[_Item]:
    """The items, with the progress of what is done with them.

    Args:
        items: What is worked on.
        title: What is done.
        total: How many there are.
        size: What an item counts for: the tasks of a batch.

    Example:

    >>> sum(tracked([1, 2, 3], "Adding", 3))
    6
    """
    console = Console(stderr=True)
    if console.is_terminal:
        yield from track(items, title, total / size, console=console)
        return
    lines = Lines(title, total)
    lines.update(0)
    for number, item in enumerate(items, 1):
        yield item
        done = min(number * size, total)
        if number == 1:  # which may have compiled
            lines.begin(done)
        lines.update(done)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
