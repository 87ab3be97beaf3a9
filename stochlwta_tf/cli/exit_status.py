"""How a command ends: user errors and signals give one line and an exit status, not a traceback."""

import contextlib
import signal
import sys

from stochlwta_tf.errors import NonFiniteError, UserError


def exit_status(command):
    """Runs a command, prints an error as one line and returns the exit status."""
    try:
        command()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 3 if isinstance(error, NonFiniteError) else 2
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
    """Makes SIGINT and SIGTERM raise `Stopped`; the files on disk can be resumed from at any moment."""

    def stop(number, _):
        raise Stopped(number, advice)

    before = {number: signal.signal(number, stop) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
