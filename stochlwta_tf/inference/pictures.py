"""Picture files as a learner's inputs, prepared as those that it was trained on."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from stochlwta_tf.errors import DataError, UserError
from stochlwta_tf.learners import MetaLearner
from stochlwta_tf.tasks import images_of
from stochlwta_tf.tasks.decoding import decode, in_parallel


def read_pictures(learner: MetaLearner, files: Sequence[str | Path]) -> np.ndarray:
    """The pixels of picture files, sized, coloured and scaled as in the learner's training.

    A model of Omniglot, for example, wants bright ink on a dark ground, and gets it from drawings of dark ink on white.

    Args:
        learner: A learner of images; what it was trained on is saved in its file (`learner.trained_on`).  Without that record, pictures
            are resized to its input and scaled to [0, 1].
        files: Picture files.

    Returns:
        float32 array `[files, height, width, channels]`.

    Raises:
        UserError: The learner's inputs are no images.
        DataError: Files that cannot be read or decoded; the message names each.

    Example:

    >>> x = read_pictures(learner, ["new/cat.jpg", "new/dog.png"])
    """
    pictures = read_each(learner, files)
    wrong = [what for what in pictures if isinstance(what, str)]
    if wrong:
        more = f" ({len(wrong)} such files: {', '.join(message.partition(': ')[0] for message in wrong)})" if len(wrong) > 1 else ""
        raise DataError(f"{wrong[0]}{more}")
    return np.stack(pictures) if pictures else np.zeros([0, *filter(None, learner.example_shape)], "float32")


def read_each(learner: MetaLearner, files: Sequence[str | Path]) -> list[np.ndarray | str]:
    """As `read_pictures`, of each file by itself: its pixels, or in words why there are none.

    Args:
        learner, files: As in `read_pictures`.

    Returns:
        For each file a float32 array `[height, width, channels]`, or a string.

    Raises:
        UserError: The learner's inputs are no images.

    Example:

    >>> files = pictures_in(Path("new"))
    >>> readable = {file: x for file, x in zip(files, read_each(learner, files)) if not isinstance(x, str)}
    """
    pixels = _preparation(learner)

    def read(file: str | Path) -> np.ndarray | str:
        try:
            return pixels(Path(file).read_bytes(), file).astype("float32") / 255.0
        except OSError as error:
            return f"{file}: cannot be read: {error.strerror}."
        except DataError as error:
            return str(error)

    return list(in_parallel(read, files, "Decoding"))


def _preparation(learner: MetaLearner) -> Callable[[bytes, str | Path], np.ndarray]:
    """The function from a file's bytes and name to uint8 pixels."""
    shape = learner.example_shape
    height, width, channels = (*shape, None, None, None)[:3]
    if len(shape) != 3 or height is None or width != height or channels not in (1, 3):
        raise UserError(f"pictures need a model whose inputs are square images with 1 or 3 channels. Received: inputs of shape {shape}.")
    trained_on = learner.trained_on.get("task", {})
    if (kind := images_of(trained_on)) is None:
        return lambda data, where: decode(data, height, channels, where)
    return lambda data, where: kind.picture({**trained_on, "shape": shape}, data, where)
