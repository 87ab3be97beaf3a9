"""Omniglot (Lake, Salakhutdinov & Tenenbaum 2015): 1,623 handwritten characters, 20 drawings of each."""

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import tensorflow as tf
from pydantic import Field

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.decoding import decode
from stochlwta_tf.tasks.image_tasks import ImageTasks
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.tasks.tfds_source import intact, prepared

_PARTS = {"background": ("train", 964), "evaluation": ("test", 659)}  # the data set's own parts: their tfds split, their characters
_PAPER_TRAINING = 974  # appendix A: 974 characters for training and 649 for testing, after a shuffle


class Omniglot(ImageTasks):
    """Few-shot tasks from Omniglot at 28x28: 864 background characters for training, 100 for validation, the 659 others for testing.

    That is the split of the protocols `standard` and `original_code`; `paper` has 974 and 649, from one shuffle of all (the paper's own
    shuffle is not published).

    The data set names no validation characters: `validation_classes` of the training characters, always the same ones for a number, are
    held out for validation, so that nothing is ever selected on the test characters.  With 0, all are trained on, and validation tasks
    are drawn from them: a validation score then shows progress, not generalisation.

    Pixels are rounded to 1/255 once, after resizing.  The images come through TensorFlow Datasets, are prepared once and cached.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        invert: Ink 1 on paper 0, as most work does; `False` for white paper as in the paper's published code.
        antialias: Whether resizing averages the pixels it skips; `False` for plain bilinear as in the published code.
        validation_classes: Training characters held out for validation: the first of `numpy.random.RandomState(0).permutation` of their
            names in alphabetical order.
        protocol: Which characters are trained and tested on, and how tasks are drawn and scored.
        data_dir: Folder of TensorFlow Datasets; `None` for `$TFDS_DATA_DIR`, else `~/tensorflow_datasets`.
        **options: `way`, `shot`, `queries` and the others of `ImageTasks`.

    Raises:
        ConfigurationError: If an option is out of its range.
        DataError: If the data is missing and cannot be downloaded.

    Example:

    >>> tasks = Omniglot("train", batch=50, seed=0, way=20, shot=1, train_queries=0)
    """

    protocols = ("standard", "paper", "original_code")
    input_shape = (28, 28, 1)

    def __init__(
        self,
        split: str,
        batch: int,
        seed: int,
        *,
        invert: bool = True,
        antialias: bool = True,
        validation_classes: Annotated[int, Field(ge=0, lt=964)] = 100,
        protocol: ProtocolName = "standard",
        data_dir: str | None = None,
        **options: Any,
    ) -> None:
        if not 0 <= validation_classes < _PARTS["background"][1]:
            raise ConfigurationError(f"validation_classes must be from 0 to 963. Received: validation_classes={validation_classes}.")
        bank = cached_bank("omniglot", {"size": 28, "invert": invert, "antialias": antialias}, lambda: load(invert, antialias, data_dir))
        if protocol == "paper":
            shuffled = [str(n) for n in np.random.RandomState(0).permutation(bank.names)]
            training, test = shuffled[:_PAPER_TRAINING], shuffled[_PAPER_TRAINING:]
        else:
            training, test = ([n for n in bank.names if n.startswith(part)] for part in _PARTS)
        kept = set(np.random.RandomState(0).permutation(sorted(training))[:validation_classes].tolist())
        banks = bank.split({"train": [n for n in training if n not in kept], "test": test})
        banks["validation"] = bank.subset(sorted(kept)) if kept else banks["train"]
        super().__init__(banks, split, batch, seed, protocol=protocol, **options)

    @classmethod
    def picture(cls, options: dict[str, Any], data: bytes, where: str | Path) -> np.ndarray:
        """As the base, resized and inverted as the drawings are."""
        return shrunk(tf.constant(decode(data, None, 1, where)), options.get("invert", True), options.get("antialias", True)).numpy()


def shrunk(image: tf.Tensor, invert: bool, antialias: bool) -> tf.Tensor:
    """A drawing `[height, width, 1]`, dark ink on white, as a uint8 image of 28x28 pixels; with `invert` bright ink on black."""
    image = tf.image.resize(image, (28, 28), "bilinear", antialias=antialias)
    image = tf.cast(tf.round(tf.clip_by_value(image, 0.0, 255.0)), tf.uint8)
    return 255 - image if invert else image


def load(invert: bool = True, antialias: bool = True, data_dir: str | None = None) -> ClassBank:
    """All of Omniglot as a `ClassBank` of 28x28 images; class names look like `"background/Greek_3"`."""
    builder = prepared("omniglot", "Omniglot", data_dir)

    def shrink(example: dict[str, tf.Tensor]) -> tuple[tf.Tensor, tf.Tensor]:
        return shrunk(example["image"][..., :1], invert, antialias), example["label"]

    images, labels = [], []
    names: list[str] = []
    with intact("Omniglot", builder.data_dir):
        for part, (source, characters) in _PARTS.items():
            data = builder.as_dataset(split=source, shuffle_files=False).map(shrink, tf.data.AUTOTUNE).batch(1024)
            pixels, numbers = (np.concatenate(column) for column in zip(*data.as_numpy_iterator(), strict=True))
            numbers, index, count = np.unique(numbers, return_inverse=True, return_counts=True)
            if len(numbers) != characters or set(count) != {20}:
                raise DataError(f"Omniglot's {part} part in {builder.data_dir} must have {characters} characters of 20 drawings each.")
            labels.append(index + len(names))
            names += [f"{part}/{builder.info.features['label'].int2str(n)}" for n in numbers]
            images.append(pixels)
    return ClassBank.from_labels(np.concatenate(images), np.concatenate(labels), names)
