"""The runs of a suite as tasks of a Ray cluster: `train.py --suite table5 --launcher ray`."""

import os
import time
from pathlib import Path

import stochlwta_tf
from stochlwta_tf.cli import launchers
from stochlwta_tf.errors import UserError

_POLL = 0.2  # seconds between two looks at a process, between which a task can be cancelled
_GRACE = 30.0  # seconds that cancelled tasks have to end their processes


class RayTasks:
    """Starts each command as a Ray task, on the cluster of `RAY_ADDRESS`, or one that runs on this machine, or one that it starts here.

    Every node needs the package, and this working folder and the runs' folder under the same paths, as on a shared disk.  Only the
    progress and the results are here: a run's process writes its folder itself, and its lock keeps two of them apart.

    Args:
        jobs: Commands under way at once; by default one for each node.  They share the cluster's cores.

    Raises:
        UserError: Ray is not installed, or the cluster does not answer.
    """

    def __init__(self, jobs=None):
        try:
            import ray
        except ImportError as error:
            raise UserError("--launcher ray needs Ray: pip install -e '.[cluster]'.") from error
        self._ray = ray
        path = str(Path(stochlwta_tf.__file__).parent.parent)
        try:
            # The workers import this file, and start each command in this folder.
            variables = {"PYTHONPATH": os.pathsep.join(filter(None, [path, os.environ.get("PYTHONPATH")]))}
            ray.init(log_to_driver=False, logging_level="ERROR", runtime_env={"env_vars": variables})
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise UserError(f"the Ray cluster does not answer: {str(error).splitlines()[0]}") from error
        cores = [int(node["Resources"].get("CPU", 0)) for node in ray.nodes() if node["Alive"]]
        self.slots = jobs or len(cores)
        self._cores = max(1, min(max(cores), sum(cores) // self.slots))  # a task is on one node
        # Whatever a run had written is there: it is resumed by the next start, not begun anew by Ray.
        self._task = ray.remote(num_cpus=self._cores, max_retries=0)(_run)
        self._active = []

    def start(self, arguments):
        job = self._task.remote(arguments, os.getcwd(), self._cores)
        self._active.append(job)
        return job

    def finished(self, seconds):
        end = time.monotonic() + seconds
        while not (done := self._ended(1)):
            if time.monotonic() > end:
                return None
            time.sleep(_POLL)
        self._active.remove(done[0])
        try:
            return done[0], self._ray.get(done[0])
        except self._ray.exceptions.RayError as error:  # its node or worker is gone
            return done[0], (1, "", f"error: {type(error).__name__}: {str(error).strip().splitlines()[0]}")

    def _ended(self, count, timeout=0):
        """Up to `count` jobs that have ended."""
        try:
            return self._ray.wait(self._active, num_returns=count, timeout=timeout)[0]
        except SystemError as error:  # so Ray takes a signal that comes in this call
            raise error.__cause__ or error from None

    def stop(self):
        for job in self._active:
            self._ray.cancel(job)
        if self._active:
            self._ended(len(self._active), _GRACE)
        self._ray.shutdown()


def _run(arguments, folder, cores):
    """Runs a command on a node; when the task is cancelled, or its worker ends, the process ends too."""
    process = launchers.Process(arguments, launchers.environment(cores), cwd=folder)
    try:
        while (answer := process.answer()) is None:
            time.sleep(_POLL)
        return answer
    except BaseException:
        process.terminate()
        process.end()
        raise
