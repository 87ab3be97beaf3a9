"""The folder of a run: its files, written so that a crash leaves them intact."""

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

from stochlwta_tf.config import configuration, identity, places
from stochlwta_tf.errors import ConfigurationError, UserError


class RunFolder:
    """Paths of a run, and the files that describe it.

    Attributes:
        config: `config.yaml`, every key resolved; can be given to `train.py --config` as it is.
        data: `data.json`: the classes of each split and a fingerprint of their images, for classification; see `data_record`.
        environment: `environment.json`: versions, devices, threads, seed, git revision and command of each start.
        metrics: `metrics.csv`, a row every `training.log_every` meta-iterations.
        tensorboard: Folder of the same numbers for TensorBoard.
        checkpoints: Folder of the last checkpoints, to resume from.
        best: `best.weights.h5`, the weights of the best validation, with `training.keep_best`.
        model: `model.keras`, the trained learner; with `training.keep_best` as it was at its best validation.
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
        self.best = self.path / "best.weights.h5"
        self.model = self.path / "model.keras"
        self.evaluation = self.path / "evaluation.json"
        self.figure = self.path / "predictions.png"

    def check(self, config, resume):
        """Raises unless a run of this configuration may start here or, with `resume`, continue; writes nothing.

        Raises:
            UserError: There is a run already, or something that is not a run, or the name is not in UTF-8.
            ConfigurationError: The run to resume has another configuration.
        """
        if os.fsencode(self.path) != str(self.path).encode("utf-8", "replace"):
            # TensorFlow would write the checkpoints to a folder of another name.
            raise UserError(f"a run's folder needs a name in UTF-8: choose another with --out. Received: {os.fsencode(self.path)!r}.")
        if os.path.exists(self.config):  # unlike pathlib's, False for a name that no folder can have
            if not resume:
                raise UserError(f"{self.path} already contains a run: resume it with --resume, or choose another folder with --out.")
            self._check_same(config)
        elif os.path.exists(self.path) and (not self.path.is_dir() or any(not p.name.startswith(".") for p in self.path.iterdir())):
            raise UserError(f"{self.path} exists and is not a run: choose another folder with --out.")

    def _check_same(self, config):
        # The data may have moved; whether it is the same is for its record to say.
        has, wanted = ({**c.resolved(), "task": places.unplaced(c.resolved()["task"])} for c in (configuration.load(self.config), config))
        changed = identity.difference(has, wanted)
        if changed:
            key, old, new = changed
            raise ConfigurationError(f"{self.config}: the run to resume has {key}={old}. Received: {key}={new}.")

    def has_checkpoints(self):
        """Whether anything has been trained that can be resumed."""
        return os.path.isdir(self.checkpoints) and any(self.checkpoints.glob("ckpt-*.index"))

    def check_trained(self):
        """Raises a UserError unless there is a trained model."""
        if not os.path.exists(self.model):
            raise UserError(f"{self.path} has no trained model ({self.model.name}): train first, or finish the training with --resume.")

    @contextlib.contextmanager
    def alone(self):
        """Keeps other processes from training in this folder, which is created if missing.

        Raises:
            UserError: Another process is training here, or the folder cannot be written.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)  # filelock creates it from 3.13 on
            lock = filelock.FileLock(self.path / ".lock")  # the system releases it when a process ends, however it ends
            try:
                lock.acquire(blocking=False)
            except filelock.Timeout as error:
                raise UserError(f"{self.path}: another process is training here; wait, or choose another folder with --out.") from error
        try:
            yield
        finally:
            lock.release()

    def begin(self, config, data=None):
        """Writes the configuration, the environment and, for a new run, the record of its data.

        Args:
            config: The `Configuration`.
            data: The result of `data_record.describe`; empty for regression.

        Raises:
            UserError: The folder cannot be written.
            ConfigurationError: It has another configuration, because another process began a run here after `check`.
        """
        with writing(self.path):
            self.path.mkdir(parents=True, exist_ok=True)
        if self.config.exists():
            self._check_same(config)
        else:
            write_text(self.config, config.to_yaml())
        if data and not self.data.exists() and not self.has_checkpoints():  # also where a crash came before the record
            write_text(self.data, json.dumps(data, indent=2) + "\n")  # in ASCII: a folder's name may not be UTF-8
        write_json(self.environment, [*self._starts(), environment(config)])

    def _starts(self):
        """The records of earlier starts.  An unreadable file is set aside, because the training does not depend on it."""
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


def model_file(source):
    """The file of a trained model.

    Args:
        source: The folder of a run, or a `.keras` file.

    Raises:
        UserError: There is no such folder or file, or the run is not finished.
    """
    path = Path(source).expanduser()
    if path.is_dir():
        folder = RunFolder(path)
        folder.check_trained()
        return folder.model
    if not path.is_file():
        raise UserError(f"a trained model is the folder of a run or a .keras file. Received: {source}, which does not exist.")
    return path


@contextlib.contextmanager
def writing(path):
    """Turns a full disk, a missing permission and similar failures into a one-line error.

    Raises:
        UserError: `path` cannot be written.
    """
    import tensorflow as tf

    try:
        yield
    except (OSError, tf.errors.OpError) as error:
        # HDF5 puts a paragraph into `strerror`. TensorFlow says "{{node …}} /a/long/path; No space left on device [Op:SaveV2]".
        number = getattr(error, "errno", None)
        reason = os.strerror(number) if number else str(error).splitlines()[0].rpartition("; ")[2].partition(" [Op:")[0]
        raise UserError(f"{path}: cannot be written: {reason}. What was written before is kept.") from error


@contextlib.contextmanager
def replacing(path):
    """A temporary path to write to, which replaces `path` atomically when the block has succeeded.

    Example:

    >>> with replacing(folder.model) as part:
    ...     learner.save(part)
    """
    part = path.with_name(f".part-{path.name}")
    try:
        with writing(path):
            yield part
            with part.open("rb+") as file:
                os.fsync(file.fileno())  # or a power cut may leave an empty file under the new name
            os.replace(part, path)
    finally:
        with contextlib.suppress(OSError):  # where nothing can be written nothing can be removed either
            part.unlink()


def write_text(path, text):
    """Replaces a file by text in UTF-8; a byte of a file name that is not UTF-8 is written as `\\udc..`, which is itself again in JSON."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8", errors="backslashreplace")


def write_json(path, values):
    write_text(path, json.dumps(values, indent=2, ensure_ascii=False) + "\n")


def environment(config):
    """What a result depends on besides the configuration, as a dictionary."""
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
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def _version(package):
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return None


def _git_revision(source):
    """The commit of a source file, with `-dirty` if anything has changed since; None if git does not track the file."""
    return _git(source, "ls-files", source.name) and _git(source, "describe", "--always", "--dirty", "--abbrev=40", "--exclude=*")


def _git(source, *arguments):
    try:
        done = subprocess.run(["git", "-C", source.parent, *arguments], check=False, capture_output=True)
    except OSError:
        return None
    return done.stdout.decode("utf-8", "replace").strip() or None
