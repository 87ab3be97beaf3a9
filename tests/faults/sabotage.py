"""What is done to a training from inside its process, before it starts; the package itself has no hook for it."""

import ctypes
import errno
import os
import resource
import signal
import threading


def kill_at(event, number, when, delay=0.0):
    """SIGKILL at the `number`-th call of a function that writes: before it, after it, or some seconds after it began.

    Args:
        event: One of `_EVENTS`.
        number: Which call, from 1.
        when: `"before"`, `"during"` or `"after"`.
        delay: For `"during"`, in seconds.
    """
    holder, name = _event(event)
    original, calls = getattr(holder, name), []

    def sabotaged(*arguments, **options):
        calls.append(1)
        if len(calls) != number:
            return original(*arguments, **options)
        if when == "before":
            _kill()
        if when == "during":
            threading.Timer(delay, _kill).start()
        result = original(*arguments, **options)
        if when == "after":
            _kill()
        return result

    setattr(holder, name, sabotaged)


def _kill():
    os.kill(os.getpid(), signal.SIGKILL)


def _event(event):
    from tensorflow.python.checkpoint import checkpoint_management
    from tensorflow.python.ops import gen_io_ops, io_ops

    from stochlwta_tf.learners import MetaLearner

    return {
        "the data of a checkpoint": (io_ops, "save_v2"),
        "the index of a checkpoint": (gen_io_ops, "merge_v2_checkpoints"),
        "the list of checkpoints": (checkpoint_management, "update_checkpoint_state_internal"),
        "a flush to the disk": (os, "fsync"),
        "a file takes its place": (os, "replace"),
        "the best weights": (MetaLearner, "save_weights"),
        "the model": (MetaLearner, "save"),
    }[event]


def kill_in_a_row(number):
    """SIGKILL when half of a row of `metrics.csv` is on the disk; `number` counts from 1."""
    from stochlwta_tf.training.records import MetricsLog

    original, calls = MetricsLog._table, []

    def table(self, file):
        made = original(self, file)
        calls.append(file.mode)

        def half(row):
            text = ",".join(str(row.get(name, "")) for name in made.fieldnames)
            file.write(text[: len(text) // 2])
            file.flush()
            _kill()

        if calls.count("a") == number:
            made.writerow = half
        return made

    MetricsLog._table = table


def file_size(size):
    """No file may grow beyond `size` bytes: a write beyond it fails as on a full disk, in Python and in TensorFlow."""
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def full_disk(event, number):
    """The `number`-th call of a function that writes finds no space, and no later one does."""
    holder, name = _event(event)
    original, calls = getattr(holder, name), []

    def sabotaged(*arguments, **options):
        calls.append(1)
        if len(calls) >= number:
            raise OSError(errno.ENOSPC, "No space left on device")
        return original(*arguments, **options)

    setattr(holder, name, sabotaged)


def no_rights():
    """Gives up what permits root to write where permissions forbid it (Linux's capabilities); for other users nothing changes."""
    header = (ctypes.c_uint32 * 2)(0x20080522, 0)  # version 3, this process
    if ctypes.CDLL(None, use_errno=True).capset(header, (ctypes.c_uint32 * 6)()):
        raise OSError(ctypes.get_errno(), "capset")


def not_a_number(iteration):
    """A weight is NaN from an iteration on: after the checkpoint of that iteration."""
    from stochlwta_tf.training.records import Checkpoints

    original = Checkpoints.on_epoch_end

    def poisoned(self, epoch, logs=None):
        original(self, epoch, logs)
        if int(self.model.optimizer.iterations) == iteration:
            weight = self.model.trainable_variables[0]
            weight.assign(weight * float("nan"))

    Checkpoints.on_epoch_end = poisoned
