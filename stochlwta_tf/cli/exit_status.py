"""How a command ends: user errors and signals give one line and an exit status, not a traceback."""

import contextlib
import os
import signal
import sys
import threading

from stochlwta_tf.errors import NonFiniteError, UserError


def any_console():
    """Lets a command print on any console: what its encoding lacks, such as σ, or is not text in a file's name, is replaced by `?`."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")


def exit_status(command):
    """Runs a command, prints an error as one line and returns the exit status."""
    try:
        command()
        if sys.stdout is not None:
            sys.stdout.flush()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if isinstance(error, NonFiniteError) else 2
    except BrokenPipeError:  # the reader has closed, as `head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # or Python would complain when it closes it
        return 128 + signal.SIGPIPE
    except OSError as error:
        if error.filename is None:
            raise
        print(f"error: {error.filename}: {error.strerror}.", file=sys.stderr)
        return 2
    except Stopped as stop:
        print(f"{signal.Signals(stop.number).name}: {stop.advice}", file=sys.stderr)
        return 128 + stop.number
    return 0


class Stopped(BaseException):
    """A signal asked the program to end."""

    def __init__(self, number, advice):
        super().__init__(number)
        self.number, self.advice = number, advice


@contextlib.contextmanager
def stoppable(advice):
    """Makes SIGINT and SIGTERM raise `Stopped`; the files on disk can be resumed from at any moment.

    Python handles signals in its main thread alone: a command that another thread runs leaves them to it.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, _):
        raise Stopped(number, advice)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
