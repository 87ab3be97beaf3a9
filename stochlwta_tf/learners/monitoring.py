"""Callbacks that follow a learner's score: whether more of it is better."""

from typing import Any

import keras


def set_direction(callbacks: Any, score: str, higher_is_better: bool) -> None:
    """Sets the mode of each callback that follows a learner's score in the mode `"auto"`.

    Keras knows the direction of its own metrics only, and refuses to guess that of others after the first epoch.

    Args:
        callbacks: A callback, a list of them, or None, as in `keras.Model.fit`.
        score: Name of the score, such as `"accuracy"`; in validation, or of the support set or the queries, it has a prefix.
        higher_is_better: Whether a larger score is better.
    """
    listed = callbacks if isinstance(callbacks, (list, tuple)) else getattr(callbacks, "callbacks", [callbacks])
    for callback in listed:
        monitor = getattr(callback, "monitor", None)
        if isinstance(callback, keras.callbacks.Callback) and isinstance(monitor, str) and getattr(callback, "mode", None) == "auto":
            name = monitor.removeprefix("val_")
            if name in (score, f"support_{score}", f"query_{score}"):
                callback.mode = "max" if higher_is_better else "min"
            elif name == "diverged":
                callback.mode = "min"
