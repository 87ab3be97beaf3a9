"""A worker that has lost another starts anew, as TensorFlow cannot go on with a part of a cluster."""

import os
import sys

_COUNT = "STOCHLWTA_RESTARTS"
_MOST = 100


def again(lost):
    """Puts the same command in the place of this process, to wait for the other workers and resume with them.

    Args:
        lost: The error that says which worker is lost; it is raised after a hundred times.
    """
    count = int(os.environ.get(_COUNT, "0"))
    if count >= _MOST:
        raise lost
    print(f"{lost} Waiting for all workers to resume from the last checkpoint.", file=sys.stderr, flush=True)
    os.environ[_COUNT] = str(count + 1)
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])
