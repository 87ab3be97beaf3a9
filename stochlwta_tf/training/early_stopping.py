"""The end of a training that no longer gains anything on validation tasks: `training.patience`."""

import sys

import keras

from stochlwta_tf.training.best import best_of


class EarlyStopping(keras.callbacks.Callback):
    """Ends the training once as many validations in a row as `patience` have not beaten the best one.

    It decides by the rows of `metrics.csv` alone, so that a resumed run ends where an uninterrupted one would; Keras's own would count
    anew.

    Args:
        patience: How many validations.
        rows: The rows, which a `MetricsLog` before this callback appends to.
        likelihood: The learner's, which defines the score.
        start: Validations up to this iteration do not count.
    """

    def __init__(self, patience, rows, likelihood, start=0):
        super().__init__()
        self._patience, self._rows, self._likelihood, self._start = patience, rows, likelihood, start

    def on_epoch_end(self, epoch, logs=None):
        if is_over(self._rows, self._patience, self._likelihood, self._start):
            self.model.stop_training = True
            best, score = best_of(_after(self._rows, self._start), self._likelihood)
            print(
                f"stopped at iteration {self._rows[-1]['iteration']}: {self._patience} validations without an improvement on {score:.4g}, "
                f"at iteration {best} (training.patience).",
                file=sys.stderr,
            )


def is_over(rows, patience, likelihood, start=0):
    """Whether a training with these rows has ended.

    Args:
        rows: Dictionaries, as in `MetricsLog.rows`.
        patience: Validations, or None for no end before the last iteration.
        likelihood: A `Likelihood`, whose score counts.
        start: Validations up to this iteration do not count: those before an extension.

    Example:

    >>> is_over([{"iteration": i, "val_accuracy": v} for i, v in enumerate([0.5, 0.4, 0.3], 1)], 2, Categorical())
    True
    """
    if patience is None:
        return False
    validations = [row for row in _after(rows, start) if row.get(f"val_{likelihood.score_name}") not in (None, "")]
    best = best_of(validations, likelihood)
    return best is not None and sum(int(row["iteration"]) > best[0] for row in validations) >= patience


def _after(rows, start):
    return [row for row in rows if int(row["iteration"]) > start]
