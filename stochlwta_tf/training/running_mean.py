"""The number that the paper's published code prints: a mean over all evaluations since the first iteration of training."""

import keras

from stochlwta_tf import metrics
from stochlwta_tf.training.records import read

EVERY = 50  # meta-iterations between two evaluations, in the published code
_COLUMNS = ("running_train_accuracy", "running_test_accuracy")


class RunningMean(keras.callbacks.Callback):
    """Logs `running_train_accuracy` and `running_test_accuracy`, as protocol `original_code` has them.

    Before meta-iterations 0, 50, 100, … one task of the training classes and one of the test classes is adapted to and scored across its
    queries; a row of `metrics.csv` has the means of all scores so far.  The mean lags behind the network that it is printed for, because it
    includes the untrained one.

    Args:
        training, test: `ImageTasks` that draw one task a batch, of the training and of the test classes.
        path: The run's `metrics.csv`, which is continued.
        done: Meta-iterations of the restored learner.
    """

    def __init__(self, training, test, path, done):
        super().__init__()
        self._tasks = dict(zip(_COLUMNS, (training, test), strict=True))
        self._count, self._way = evaluations(done), test.way
        last = next((row for row in read(path) if int(row["iteration"]) == done), dict.fromkeys(_COLUMNS, 0.0))
        # Numbers of classes that were right: whole, so that a resumed mean is the uninterrupted one to the last bit.
        self._right = {name: round(float(last.get(name) or 0.0) * self._count * self._way) for name in _COLUMNS}

    def on_train_batch_begin(self, batch, logs=None):
        if int(self.model.optimizer.iterations) < EVERY * self._count:
            return
        for name, tasks in self._tasks.items():
            predicted = self.model.predictive(self.model.predict_tasks(tasks.sample(self._count))).numpy()
            self._right[name] += round(float(metrics.accuracy_across_queries(predicted)[0]) * self._way)
        self._count += 1

    def on_epoch_end(self, epoch, logs=None):
        logs |= {name: right / (self._count * self._way) for name, right in self._right.items()}


def evaluations(iterations):
    """Number of evaluations, at 0, 50, 100, …, before a number of meta-iterations is reached."""
    return -(-iterations // EVERY)


def last(path):
    """The means at a run's end, in percent, and over how many evaluations; None if a run has not recorded them."""
    rows = [row for row in read(path) if row.get(_COLUMNS[0])]
    if not rows:
        return None
    training, test = (100 * float(rows[-1][name]) for name in _COLUMNS)
    return {"training": training, "test": test, "evaluations": evaluations(int(rows[-1]["iteration"]))}
