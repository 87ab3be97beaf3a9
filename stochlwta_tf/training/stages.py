"""Where the time of a training's start goes."""

import os
import time


class Stages:
    """Times of the stages of a start, one after another: real time, and processor time of all cores.

    Example:

    >>> stages = Stages()
    >>> stages.end("configuration")
    >>> [name for name, *_ in stages.times]
    ['configuration']
    """

    def __init__(self):
        self.times = []
        self._wall, self._core = time.perf_counter() - _age(), 0.0

    def end(self, name):
        """Ends a stage, which began with the end of the one before, or with the process."""
        wall, core = time.perf_counter(), time.process_time()
        self.times.append((name, wall - self._wall, core - self._core))
        self._wall, self._core = wall, core

    def text(self):
        """The stages as lines of a table."""
        rows = [*self.times, ("all of the start", *(sum(column) for column in list(zip(*self.times, strict=True))[1:]))]
        width = max(len(name) for name, *_ in rows)
        return "\n".join(
            [f"{'':{width}}  seconds  core seconds", *(f"{name:{width}}  {wall:7.2f}  {core:12.2f}" for name, wall, core in rows)]
        )


def _age():
    """Seconds since this process began; 0 where the system does not say."""
    try:
        with open("/proc/self/stat", encoding="utf-8", errors="replace") as file:
            start = int(file.read().rpartition(")")[2].split()[19]) / os.sysconf("SC_CLK_TCK")
        return time.clock_gettime(time.CLOCK_BOOTTIME) - start
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
