"""Starts trainings as processes of their own, forked from one that has loaded TensorFlow and not yet started it: a second instead of ten.

`python -m tests.faults.server` reads requests, a line of JSON each, and answers each with a line:
`{"start": [arguments of train.py], "sabotage": [name, options], "log": file}` with the process's number, `{"wait": number}` with its
status.
"""

import json
import os
import resource
import signal
import subprocess
import sys
from pathlib import Path

from tests.helpers import REPOSITORY


class Server:
    """The client's side: `start` a training, and `wait` for it.

    Example:

    >>> with Server(folder) as server:
    ...     child = server.start(["--config", "a.yaml", "--out", "run"])
    ...     assert child.wait() == 0
    """

    def __init__(self, folder):
        self._folder, self._count = Path(folder), 0
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])}
        with (self._folder / "server.log").open("w") as log:
            self._process = subprocess.Popen(
                [sys.executable, "-m", "tests.faults.server"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
                cwd=self._folder,
                env=environment,
            )

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._process.stdin.close()
        self._process.wait()

    def start(self, arguments, sabotage=None):
        """A training with these arguments of `train.py`; `sabotage` is the name of a function of `sabotage.py`, with its options."""
        self._count += 1
        log = self._folder / f"training-{self._count}.log"
        return Child(self, self.ask(start=[str(a) for a in arguments], sabotage=sabotage, log=str(log)), log)

    def ask(self, **request):
        print(json.dumps(request), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


class Child:
    """A started training."""

    def __init__(self, server, pid, log):
        self._server, self.pid, self._log, self._status = server, pid, log, None

    def running(self):
        """Whether it has not ended: the state of a process that has, and is not waited for, is Z."""
        return self._status is None and Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"

    def send(self, number):
        """Sends a signal to the training, which is this process's own and not yet waited for."""
        if self._status is None:
            os.kill(self.pid, number)

    def wait(self):
        """Its status: that of its exit, or the signal that ended it, negative."""
        if self._status is None:
            self._status = self._server.ask(wait=self.pid)
        return self._status

    def errors(self):
        """The lines that it wrote to standard error."""
        return self._log.read_text(errors="replace").splitlines()


def serve():
    """Answers requests until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the tests
    from stochlwta_tf.training import build

    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("XLA_FLAGS", build.XLA_FLAGS)
    # Loaded, and not started: nothing has been computed, so no thread of TensorFlow is lost in a fork.
    import stochlwta_tf.cli.run_test
    import stochlwta_tf.cli.train
    import stochlwta_tf.learners
    import stochlwta_tf.networks
    import stochlwta_tf.tasks
    import stochlwta_tf.training.train  # noqa: F401

    writers = {}
    for line in sys.stdin:
        request = json.loads(line)
        if "wait" in request:
            status = os.waitstatus_to_exitcode(os.waitpid(request["wait"], 0)[1])
            writers.pop(request["wait"]).wait()
            print(status, flush=True)
            continue
        end, errors = os.pipe()  # what a training says must not be cut where its own files may not grow
        with open(request["log"], "wb") as log:
            writer = subprocess.Popen(["cat"], stdin=end, stdout=log)
        pid = os.fork()
        if not pid:
            os._exit(_train(request, errors))
        os.close(end)
        os.close(errors)
        writers[pid] = writer
        print(pid, flush=True)


def _train(request, errors):
    import traceback

    from tests.faults import sabotage

    signal.signal(signal.SIGINT, signal.default_int_handler)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    os.dup2(errors, 2)
    for number in (0, 1):
        os.dup2(os.open(os.devnull, os.O_RDWR), number)
    # The streams of the parent remember whether what it printed to can be sought in, such as a file.
    sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
    try:
        if request["sabotage"]:
            name, options = request["sabotage"]
            getattr(sabotage, name)(**options)
        from stochlwta_tf.cli import train

        return train.main(request["start"])
    except SystemExit as stop:
        return stop.code
    except BaseException:
        traceback.print_exc()  # as Python itself would: the tests look for it
        return 1
    finally:
        sys.stderr.flush()


if __name__ == "__main__":
    serve()
