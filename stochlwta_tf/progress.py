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
        done: How much of it was done before.

    Example:

    >>> lines = Lines("Testing", 600)
    >>> lines.update(50, "0.71 s a task")
    """

    def __init__(self, title: str, total: int, done: int = 0) -> None:
        self._title, self._total, self._first = title, total, done
        self._start, self._next = time.perf_counter(), 0.0

    def update(self, done: int, text: str = "") -> None:
        """Says how far it is, if it is time to."""
        now = time.perf_counter()
        if now < self._next and done < self._total:
            return
        self._next = now + _EVERY
        left = (now - self._start) / max(done - self._first, 1) * (self._total - done)
        parts = [
            f"{self._title}: {done}/{self._total}",
            *([f"{_clock(left)} left"] if self._first < done < self._total else []),
            *([text] if text else []),
        ]
        print(", ".join(parts), file=sys.stderr, flush=True)


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
    for number, item in enumerate(items, 1):
        yield item
        lines.update(min(number * size, total))


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
