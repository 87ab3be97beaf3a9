"""How the runs of a suite are started: one after another, or several processes side by side."""

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import stochlwta_tf

_PROGRAMS = {"train.py": "stochlwta_tf.cli.train", "evaluate.py": "stochlwta_tf.cli.evaluate"}
_GRACE = 20.0  # seconds that a process has to end after SIGTERM; what it had written stays resumable however it ends
_POLL = 0.1  # seconds between two looks at the processes


def command(arguments):
    """The command line of `train.py …` or `evaluate.py …` of this version, or of Python with its own arguments.

    Example:

    >>> command(["train.py", "--resume"])[1:]
    ['-m', 'stochlwta_tf.cli.train', '--resume']
    """
    if arguments[0] in _PROGRAMS:
        arguments = ["-m", _PROGRAMS[arguments[0]], *arguments[1:]]
    return [sys.executable, *arguments]


def environment(cores=None):
    """The environment of such a process; TensorFlow takes its numbers of threads from it where a configuration has none.

    Args:
        cores: How many cores the process has for itself; None for all.
    """
    path = os.pathsep.join(filter(None, [str(Path(stochlwta_tf.__file__).parent.parent), os.environ.get("PYTHONPATH")]))
    own = {**os.environ, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}
    if cores is not None:
        for name in ("TF_NUM_INTRAOP_THREADS", "TF_NUM_INTEROP_THREADS"):
            own.setdefault(name, str(cores))
        own.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")  # or the first process would take the whole of a GPU
    return own


def start_python(arguments):
    """Runs Python in a separate process, so that each run has its own threads and devices, and a crash ends only that run.

    Args:
        arguments: As `command`.

    Returns:
        Exit status, standard output, standard error.
    """
    process = subprocess.run(command(arguments), check=False, capture_output=True, env=environment())
    return process.returncode, *(said.decode("utf-8", "replace") for said in (process.stdout, process.stderr))


class Process:
    """A command under way, whose output is kept in files, so that nobody has to read it meanwhile.

    Args:
        arguments: As `command`.
        env: Its environment.
        cores: Numbers of the cores that it may use; None for all, and where the system cannot restrict a process to some.
        cwd: Its working folder; this process's own by default.
    """

    def __init__(self, arguments, env, cores=None, cwd=None):
        self._said = [tempfile.TemporaryFile() for _ in range(2)]
        self._process = subprocess.Popen(command(arguments), stdout=self._said[0], stderr=self._said[1], env=env, cwd=cwd)
        if cores and hasattr(os, "sched_setaffinity"):
            try:  # at once: threads that it starts later inherit this
                os.sched_setaffinity(self._process.pid, cores)
            except OSError:  # it has ended, or these cores were taken away
                pass

    def answer(self):
        """Exit status, standard output and standard error once it has ended; None before."""
        if self._process.poll() is None:
            return None
        texts = []
        for file in self._said:
            file.seek(0)
            texts.append(file.read().decode("utf-8", "replace"))
            file.close()
        return self._process.returncode, *texts

    def terminate(self):
        """Asks it to end."""
        self._process.terminate()

    def end(self, seconds=_GRACE):
        """Waits until it has ended, and ends it if it takes too long."""
        try:
            self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            pass
        finally:  # also where a second signal comes
            self._process.kill()
            self._process.wait()


class OneByOne:
    """Starts each command when the one before has ended.

    A launcher has `slots`, how many commands may be under way; `start(arguments)` gives a job; `finished(seconds)` a job that has ended,
    with exit status, standard output and standard error, or None if none has in that time; and `stop()` ends what is under way.

    Args:
        start: As `start_python`.
    """

    slots = 1

    def __init__(self, start=start_python):
        self._start, self._answer = start, None

    def start(self, arguments):
        self._answer = self._start(arguments)
        return 0

    def finished(self, seconds):
        return 0, self._answer

    def stop(self):
        """Nothing: a command that is interrupted is ended by `start`."""


class Processes:
    """Several processes of this machine side by side, each with its share of the cores.

    The share bounds threads, and on Linux the cores that the process may use; it changes no number, since how tasks are divided
    follows from all of the machine's cores.

    Args:
        jobs: How many at once.

    Example:

    >>> Processes(2).slots
    2
    """

    def __init__(self, jobs):
        self.slots = jobs
        cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else range(os.cpu_count() or 1)
        self._shares = shares(list(cores), jobs)
        self._active = {}

    def start(self, arguments):
        slot = next(slot for slot in range(self.slots) if slot not in self._active)
        share = self._shares[slot]
        self._active[slot] = Process(arguments, environment(len(share)), share)
        return slot

    def finished(self, seconds):
        end = time.monotonic() + seconds
        while True:
            for slot, process in self._active.items():
                if answer := process.answer():
                    del self._active[slot]
                    return slot, answer
            if time.monotonic() > end:
                return None
            time.sleep(_POLL)

    def stop(self):
        for process in self._active.values():
            process.terminate()
        for process in self._active.values():
            process.end()
        self._active.clear()


def shares(cores, jobs):
    """The cores of each of several jobs: as equal as possible, and one core that others use too where there are more jobs than cores.

    Example:

    >>> shares([0, 1, 2, 3, 4], 2)
    [[0, 1], [2, 3, 4]]
    """
    if jobs > len(cores):
        return [[cores[job % len(cores)]] for job in range(jobs)]
    return [cores[job * len(cores) // jobs : (job + 1) * len(cores) // jobs] for job in range(jobs)]
