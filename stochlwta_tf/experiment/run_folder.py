"""The folder of a run: what is in it, and how it is written so that a crash leaves it whole."""

import contextlib
import itertools
import json
import os
import platform
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import filelock

from stochlwta_tf.errors import ConfigurationError, UserError
from stochlwta_tf.experiment import config as configuration


class RunFolder:
    """Paths of a run, and the files that describe it.

    Attributes:
        config: `config.yaml`, every key resolved; can be given to `train.py --config` as it is.
        data: `data.json`: the classes of each split and a fingerprint of their images, for classification; see `data_record`.
        environment: `environment.json`: versions, devices, threads, seed, git revision and command of each start.
        metrics: `metrics.csv`, a row for every `training.log_every` meta-iterations.
        tensorboard: Folder of the same numbers for TensorBoard.
        checkpoints: Folder of the last checkpoints, to resume from.
        model: `model.keras`, the trained learner.
        evaluation: `evaluation.json`, the test's result.
        figure: `predictions.png`, for regression.
    """

    def __init__(self, path):
        self.path = Path(path)
        self.config = self.path / "config.yaml"
        self.data = self.path / "data.json"
        self.environment = self.path / "environment.json"
        self.metrics = self.path / "metrics.csv"
        self.tensorboard = self.path / "tensorboard"
        self.checkpoints = self.path / "checkpoints"
        self.model = self.path / "model.keras"
        self.evaluation = self.path / "evaluation.json"
        self.figure = self.path / "predictions.png"

    def check(self, config, resume):
        """Raises unless a run of this configuration may begin here, or with `resume` go on; writes nothing.

        Raises:
            UserError: There is a run already, or something that is not a run.
            ConfigurationError: The run to resume has another configuration.
        """
        if self.config.exists():
            if not resume:
                raise UserError(f"{self.path} holds a run already: go on with it by --resume, or choose another folder by --out.")
            changed = configuration.difference(configuration.load(self.config).resolved(), config.resolved())
            if changed:
                key, old, new = changed
                raise ConfigurationError(f"{self.config}: the run to resume has {key}={old}. Received: {key}={new}.")
        elif self.path.exists() and (not self.path.is_dir() or any(not p.name.startswith(".") for p in self.path.iterdir())):
            raise UserError(f"{self.path} exists and is not a run: choose another folder by --out.")

    def check_trained(self):
        """Raises a UserError unless there is a trained model."""
        if not self.model.exists():
            raise UserError(f"{self.path} holds no trained model ({self.model.name}): train first, or finish the training by --resume.")

    @contextlib.contextmanager
    def alone(self):
        """Keeps other processes from training in this folder, which is made where it is missing.

        Raises:
            UserError: Another process trains here, or the folder cannot be written.
        """
        with writing(self.path):
            lock = filelock.FileLock(self.path / ".lock")  # the system lets go of it when a process ends, however it does
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout as error:
                raise UserError(f"{self.path}: another process trains here; wait for it, or choose another folder by --out.") from error
        try:
            yield
        finally:
            lock.release()

    def begin(self, config, data=None):
        """Writes the configuration and, of a new run, what the data is; and the environment.

        Args:
            config: The `Configuration`.
            data: What `data_record.describe` says of the splits; nothing for regression.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        if not self.config.exists():
            write_text(self.config, config.to_yaml())
            if data:
                write_text(self.data, json.dumps(data, indent=2) + "\n")  # in ASCII: a folder's name may be no UTF-8
        write_json(self.environment, [*self._starts(), environment(config)])

    def _starts(self):
        """The earlier starts.  A file that cannot be read is set aside, because nothing of the training depends on it."""
        if not self.environment.exists():
            return []
        try:
            starts = json.loads(self.environment.read_text(encoding="utf-8"))
            if isinstance(starts, list):
                return starts
            reason = f"it holds a {type(starts).__name__}, not a list"
        except ValueError as error:  # not JSON, or not UTF-8
            reason = str(error).splitlines()[0]
        aside = next(path for n in itertools.count(1) if not (path := self.path / f"environment-damaged-{n}.json").exists())
        with writing(aside):
            os.replace(self.environment, aside)
        print(f"{self.environment}: cannot be read ({reason}); set aside as {aside.name}.", file=sys.stderr)
        return []


@contextlib.contextmanager
def writing(path):
    """Turns a full disk, a missing permission and their like into one line.

    Raises:
        UserError: `path` cannot be written.
    """
    import tensorflow as tf

    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        # TensorFlow says "{{node …}} /a/long/path; No space left on device [Op:SaveV2]".
        reason = getattr(error, "strerror", None) or str(error).splitlines()[0].rpartition("; ")[2].partition(" [Op:")[0]
        raise UserError(f"{path}: cannot be written: {reason}. What was written before is kept.") from error


@contextlib.contextmanager
def replacing(path):
    """A path to write to, which takes the place of `path` at once when all is written.

    Example:

        with replacing(folder.model) as part:
            learner.save(part)
    """
    part = path.with_name(f".part-{path.name}")
    try:
        with writing(path):
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())  # or a power cut may leave the new name with nothing in it
            os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):  # where nothing can be written nothing can be removed either
            part.unlink()


def write_text(path, text):
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path, values):
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def environment(config):
    """What a result depends on beside the configuration, as a dictionary."""
    import tensorflow as tf

    packages = ("tensorflow", "keras", "tensorflow-probability", "numpy", "pydantic")
    return {
        "command": command(),
        "python": platform.python_version(),
        "packages": {"stochlwta_tf": _version("stochlwta_tf"), **{p: _version(p) for p in packages}},
        "platform": platform.platform(),
        "cpus": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "device": device_name(),
        "threads": {
            "intra_op": tf.config.threading.get_intra_op_parallelism_threads(),
            "inter_op": tf.config.threading.get_inter_op_parallelism_threads(),
        },
        "xla_flags": os.environ.get("XLA_FLAGS", ""),
        "seed": config.seed,
        "git": _git_revision(Path(__file__).resolve()),
    }


def command():
    """The command line that is running."""
    return " ".join([Path(sys.argv[0]).name, *sys.argv[1:]])


def device_name():
    """The GPU in use, or the processor."""
    import tensorflow as tf

    gpus = tf.config.get_visible_devices("GPU")
    if gpus:
        return tf.config.experimental.get_device_details(gpus[0]).get("device_name", "GPU")
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git_revision(source):
    """The commit that a source file is at, with `-dirty` where anything was changed since; None where git does not know the file."""
    return _git(source, "ls-files", source.name) and _git(source, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(source, *arguments):
    try:
        return subprocess.run(["git", "-C", source.parent, *arguments], check=False, capture_output=True, text=True).stdout.strip() or None
    except OSError:
        return None
