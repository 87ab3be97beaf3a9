"""The weights with the best validation score: `training.keep_best`."""

import math

import h5py
import keras

from stochlwta_tf.errors import UserError
from stochlwta_tf.training import records
from stochlwta_tf.training.run_folder import replacing


class BestWeights(keras.callbacks.Callback):
    """Saves the learner's weights whenever a validation beats all earlier ones; ties keep the first.

    What was best before a resume follows from the rows of `metrics.csv`, so that a resumed run keeps what an uninterrupted one would.

    Args:
        path: The file of the weights, `*.weights.h5`.
        rows: The rows of `metrics.csv` up to the restored iteration.
        likelihood: The learner's, which defines the score.

    Raises:
        UserError: The rows have a best validation, but its weights cannot be read.
    """

    def __init__(self, path, rows, likelihood):
        super().__init__()
        self._path, self._likelihood = path, likelihood
        found = best_of(rows, likelihood)
        self._best = found and found[1]
        if found:  # before hours of training
            try:
                h5py.File(path, "r").close()
            except OSError as error:
                raise _lost(path, found[0]) from error

    def on_epoch_end(self, epoch, logs=None):
        score = (logs or {}).get(f"val_{self._likelihood.score_name}")
        if score is None or math.isnan(score) or not _better(score, self._best, self._likelihood):
            return
        self._best = float(score)
        with replacing(self._path) as part:
            self.model.save_weights(part)


def load_best(learner, folder):
    """Gives a trained learner the weights of its best validation; leaves it as it is where no validation was finite.

    Raises:
        UserError: They cannot be read.
    """
    found = best_of(records.read(folder.metrics), learner.likelihood)
    if found:
        try:
            learner.load_weights(folder.best)
        except Exception as error:  # damage raises nearly any type
            raise _lost(folder.best, found[0]) from error


def _lost(path, iteration):
    return UserError(
        f"{path}: missing or damaged, but iteration {iteration} had the best validation, and training.keep_best=true needs its weights;"
        " restore the file, or train in another folder with --out."
    )


def best_of(rows, likelihood):
    """Iteration and score of the best validation among rows of `metrics.csv`, or None where there is none.

    Args:
        rows: Dictionaries of strings, as `records.read` gives them.
        likelihood: A `Likelihood`, whose score counts.

    Example:

    >>> best_of([{"iteration": "10", "val_accuracy": "0.5"}], Categorical())
    (10, 0.5)
    """
    best = None
    for row in rows:
        value = row.get(f"val_{likelihood.score_name}")
        score = math.nan if value in (None, "") else float(value)
        if not math.isnan(score) and _better(score, best and best[1], likelihood):
            best = int(row["iteration"]), score
    return best


def _better(score, best, likelihood):
    return best is None or (score > best if likelihood.higher_is_better else score < best)
