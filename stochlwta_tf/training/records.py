"""What a run records while it trains: rows of numbers, and checkpoints to resume from.

A run must give the same weights however often it was stopped.  There is therefore one source of truth, the iteration count of the restored
optimizer: the epoch, the next task and the rows to keep all follow from it.  A row is written before its checkpoint: rows beyond the
restored iteration will be trained again, so they are removed.
"""

import csv
import os
import re
import shutil
import sys
import time

import keras
import tensorflow as tf

from stochlwta_tf.errors import UserError
from stochlwta_tf.memory import peak_memory
from stochlwta_tf.training import board
from stochlwta_tf.training.run_folder import replacing, write_text, writing

COSTS = ("seconds", "core_seconds", "peak_memory_mib")  # columns that differ between repetitions of a run


class MetricsLog(keras.callbacks.Callback):
    """Writes a row for each epoch to a CSV file, and the same numbers to TensorBoard.

    The columns are `iteration`, `seconds` (of training and validation, over all starts of the run), `core_seconds` (of all cores together,
    in meta-iterations alone: without validation, checkpoints, and the first execution of each start, which compiles), `peak_memory_mib` (of
    this start), `learning_rate`, and what the learner logs, in validation with the prefix `val_`; a cell without a value is empty.  The
    TensorBoard file is rewritten from the rows at each start.  Keras's own callbacks do neither: CSVLogger repeats rows after a resume and
    drops what only validation has; TensorBoard's holds its points back for minutes, and a killed run loses them.

    Args:
        folder: The run's `RunFolder`.
        config: The run's `Configuration`, which TensorBoard's page of hyperparameters shows.
        done: Iterations of the restored learner.

    Attributes:
        rows: The rows, as dictionaries.
    """

    def __init__(self, folder, config, done):
        super().__init__()
        self._csv, self._epoch = folder.metrics, config.training.log_every
        self.rows = [row for row in read(self._csv) if int(row["iteration"]) <= done]
        self._columns = list(self.rows[0]) if self.rows else []
        self._write_all()
        last = self.rows[-1] if self.rows else {}
        self._seconds_before, self._core_seconds = (float(last.get(name) or 0.0) for name in ("seconds", "core_seconds"))
        self._compiled, self._core_start = False, 0.0
        with writing(folder.tensorboard):
            for old in folder.tensorboard.glob("events.*"):
                old.unlink()
            self._board = tf.summary.create_file_writer(str(folder.tensorboard))
            with self._board.as_default():
                board.write_hyperparameters(config, folder.path.name)
            for row in self.rows:
                self._to_board(row)
            self._board.flush()

    def on_train_begin(self, logs=None):
        self._start = time.perf_counter()

    def on_train_batch_begin(self, batch, logs=None):
        self._core_start = time.process_time()

    def on_train_batch_end(self, batch, logs=None):
        if self._compiled:
            self._core_seconds += time.process_time() - self._core_start
        self._compiled = True

    def on_epoch_end(self, epoch, logs=None):
        row = {
            "iteration": (epoch + 1) * self._epoch,
            "seconds": f"{self._seconds_before + time.perf_counter() - self._start:.3f}",
            "core_seconds": f"{self._core_seconds:.3f}",
            "peak_memory_mib": "" if (peak := peak_memory()) is None else peak,
            "learning_rate": float(keras.ops.convert_to_numpy(self.model.optimizer.learning_rate)),
            **{name: float(value) for name, value in logs.items()},
        }
        self.rows.append(row)
        if new := [column for column in row if column not in self._columns]:
            self._columns += new
            self._write_all()
        else:
            with writing(self._csv), self._csv.open("a", newline="", encoding="utf-8") as file:
                self._table(file).writerow(row)
                file.flush()
                os.fsync(file.fileno())  # the checkpoint that follows must not outlive its row in a power cut
        with writing(self._csv.parent):
            self._to_board(row)
            self._board.flush()

    def _write_all(self):
        with replacing(self._csv) as part, part.open("w", newline="", encoding="utf-8") as file:
            table = self._table(file)
            table.writeheader()
            table.writerows(self.rows)

    def _table(self, file):
        return csv.DictWriter(file, self._columns, restval="", lineterminator="\n")

    def _to_board(self, row):
        with self._board.as_default(step=int(row["iteration"])):
            for name, value in row.items():
                if name not in ("iteration", *COSTS) and value != "":
                    tf.summary.scalar(name, float(value))


def read(path):
    """The complete rows of a `metrics.csv` as dictionaries of strings; empty if there is no file.

    A row that a crash truncated or filled with zeros, or that holds anything but numbers, is dropped, with everything after it.
    """
    if not path.exists():
        return []
    rows, text = [], path.read_text(encoding="utf-8", errors="replace")
    table = csv.DictReader(text[: text.rfind("\n") + 1].splitlines())
    while row := _next(table):
        rows.append(row)
    return rows


def _next(table):
    """The next row of a CSV file if it is whole: an iteration, and a number or nothing in each other column."""
    try:
        row = next(table)
        if None in row or not row["iteration"].isdecimal():
            return None
        [float(value) for value in row.values() if value != ""]
    except (StopIteration, csv.Error, KeyError, TypeError, ValueError, AttributeError):
        return None
    return row


def missing(path, done, epoch):
    """The iteration of the first row that a `metrics.csv` lacks, of those that a training of `done` iterations has written; or None.

    Example:

    >>> missing(Path("none.csv"), done=300, epoch=100)
    100
    """
    found = {int(row["iteration"]) for row in read(path)}
    return next((iteration for iteration in range(epoch, done + 1, epoch) if iteration not in found), None)


def iterations_of(config, metrics_file):
    """The iterations of a run's training: those of its configuration, unless `training.patience` has ended it earlier."""
    rows = read(metrics_file) if config.training.patience else ()
    return int(rows[-1]["iteration"]) if rows else config.training.iterations


class Checkpoints(keras.callbacks.Callback):
    """Saves the learner with its optimizer after each epoch.  Must be the last callback: what it saves counts as recorded.

    The files decide which checkpoints there are.  TensorFlow's own list of them, the file `checkpoint`, may be lost in a power cut or when
    only `ckpt-*` is copied, and a run that trusted it would start at 0 and delete them.

    Args:
        folder: Where the checkpoints go.
        learner: The compiled learner, its optimizer built.
        keep: How many are kept.
    """

    def __init__(self, folder, learner, keep):
        super().__init__()
        self._folder, self._keep = folder, keep
        # TensorFlow follows a Keras model to the variables of its optimizer, and not to those that no optimizer trains.
        carried = {"carried": list(learner.carried)} if learner.carried else {}
        self._checkpoint = tf.train.Checkpoint(learner=learner, **carried)
        self._listed = _listed(folder)
        with writing(folder):
            if not self._listed:
                (folder / _LIST).unlink(missing_ok=True)  # it says nothing, and TensorFlow fails on an empty one
            self._manage()

    def _manage(self):
        self._manager = tf.train.CheckpointManager(self._checkpoint, str(self._folder), max_to_keep=self._keep)

    @property
    def latest(self):
        """Path of the last checkpoint, or None."""
        return self._manager.latest_checkpoint

    def restore(self):
        """Restores the newest intact checkpoint, with a message if that is not the last one listed; does nothing if there is none.

        Raises:
            UserError: There are checkpoints, and each is damaged or from other code.
        """
        found, damaged, reason = _saved(self._folder), [], None
        for number, path in enumerate(found):
            try:
                self._checkpoint.restore(str(path)).assert_existing_objects_matched()
            except (tf.errors.OpError, AssertionError, ValueError, LookupError, RuntimeError) as error:  # the reader's own are Python's
                damaged.append(path)
                reason = reason or str(error).strip().splitlines()[0][:200]
                continue
            if damaged or not self._listed:
                why = f"{', '.join(p.name for p in damaged)} cannot be restored" if damaged else f"{_LIST} is missing or damaged"
                print(f"{self._folder}: {why}; resuming from {path.name}, the newest intact checkpoint.", file=sys.stderr)
            if self.latest != str(path):
                self._relist(found[number:])
            with writing(self._folder):
                _clear(self._folder, int(found[0].name.rpartition("-")[2]))
            return
        if damaged:
            none = f" Nor can {', '.join(p.name for p in damaged[1:])}." if len(damaged) > 1 else ""
            raise UserError(
                f"{damaged[0]}: this checkpoint cannot be restored, it is damaged or from another version: {reason}.{none} To train from"
                " the start, choose another folder with --out."
            )

    def _relist(self, paths):
        """Rewrites TensorFlow's list with these checkpoints, newest first; without times it would never delete any."""
        lines = [f'model_checkpoint_path: "{paths[0].name}"']
        for path in reversed(paths):
            lines += [f'all_model_checkpoint_paths: "{path.name}"', f"all_model_checkpoint_timestamps: {time.time()}"]
        write_text(self._folder / _LIST, "\n".join([*lines, "last_preserved_timestamp: 0.0", ""]))
        with writing(self._folder):
            self._manage()

    def on_epoch_end(self, epoch, logs=None):
        with writing(self._folder):
            options = tf.train.CheckpointOptions(experimental_write_callbacks=[_flush])  # a new one each time: saving adds to its list
            self._manager.save(checkpoint_number=int(self.model.optimizer.iterations), options=options)


def _flush(prefix):
    """Waits until the files of a new checkpoint are on the disk: only then is an older one deleted, which a power cut would leave alone."""
    folder, name = os.path.split(prefix)
    paths = [os.path.join(folder, file) for file in os.listdir(folder) if file.startswith(f"{name}.")]
    for path in [*paths, *([folder] if os.name == "posix" else [])]:  # elsewhere a folder cannot be opened
        descriptor = os.open(path, os.O_RDONLY if path == folder else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _clear(folder, newest):
    """Removes what a killed process left of a list it was writing, of a checkpoint it was writing, or of one it was deleting."""
    for path in folder.iterdir():
        data = re.fullmatch(r"(ckpt-(\d+))\.data-.*", path.name)
        if re.fullmatch(r"ckpt-\d+_temp", path.name):
            shutil.rmtree(path, ignore_errors=True)
        elif path.name.startswith(f"{_LIST}.tmp") or (data and int(data[2]) < newest and not (folder / f"{data[1]}.index").exists()):
            path.unlink(missing_ok=True)


_LIST = "checkpoint"  # TensorFlow's name for its list of checkpoints


def _listed(folder):
    """Whether TensorFlow's list of the checkpoints can be read, and names files of this folder alone: it deletes what is too old."""
    try:
        state = tf.train.get_checkpoint_state(str(folder))
    except (ValueError, tf.errors.OpError):  # empty, or not text
        return False
    if state is None:
        return False
    paths = [state.model_checkpoint_path, *state.all_model_checkpoint_paths]
    return {os.path.dirname(os.path.abspath(path)) for path in paths} == {os.path.abspath(folder)}


def _saved(folder):
    """The checkpoints of a folder, newest first; the index is what is written last."""
    numbers = (re.fullmatch(r"ckpt-(\d+)\.index", path.name) for path in folder.glob("ckpt-*.index"))
    return [folder / f"ckpt-{n}" for n in sorted((int(match[1]) for match in numbers if match), reverse=True)]
