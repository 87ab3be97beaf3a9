"""The reliability diagram of a classifier: accuracy by confidence."""

import numpy as np

from stochlwta_tf.metrics import BINS, bin_of


def bins(probabilities, labels):
    """The queries of all tasks in equal-width bins of their confidence (top probability), as in `metrics.calibration_error`.

    Args:
        probabilities: `[tasks, queries, classes]`.
        labels: Integers `[tasks, queries]`.

    Returns:
        A dictionary: `edges` `[bins + 1]`; for each bin the number of its queries `count`, their mean `confidence` and their `accuracy`
        (both None in an empty bin); and `ece`, the expected calibration error in percent.

    Example:

    >>> bins(np.array([[[0.9, 0.1]]]), np.array([[0]]))["accuracy"][13]
    1.0
    """
    top, right = probabilities.max(-1).ravel(), (np.argmax(probabilities, -1) == labels).ravel()
    index = bin_of(top)
    count = np.bincount(index, minlength=BINS)
    confidence, accuracy = (np.bincount(index, values, BINS) / np.maximum(count, 1) for values in (top, right))
    return {
        "edges": (np.arange(BINS + 1) / BINS).tolist(),
        "count": count.tolist(),
        "confidence": [float(v) if n else None for v, n in zip(confidence, count, strict=True)],
        "accuracy": [float(v) if n else None for v, n in zip(accuracy, count, strict=True)],
        "ece": float(100 * np.sum(count * np.abs(accuracy - confidence)) / count.sum()),
    }
