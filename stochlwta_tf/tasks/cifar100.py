"""CIFAR-100 (Krizhevsky 2009): 100 classes of 600 colour images, 32x32."""

from typing import Any, Literal

import numpy as np

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.class_lists import class_list
from stochlwta_tf.tasks.image_tasks import ImageTasks
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.tasks.tfds_source import intact, prepared

TRAIN_IMAGES, TEST_IMAGES = 500, 100  # of each class, as the data set itself divides them
_CLASSES = 100
_SPLITS = ("cifar_fs", "fc100")


class Cifar100(ImageTasks):
    """Few-shot tasks from CIFAR-100 at 32x32x3.

    The protocol decides the splits.  `standard` and `original_code`: disjoint classes, those of CIFAR-FS (64 for training, 16 for
    validation, 20 for testing; Bertinetto et al. 2019) or FC100 (60, 20, 20; Oreshkin et al. 2018), each with all of its 600 images.
    `paper`: the same 100 classes in all splits; training and validation have the data set's 500 training images of each, testing its 100
    test images.

    The images come through TensorFlow Datasets, are decoded once and cached.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        splits: `"cifar_fs"` or `"fc100"`; ignored under `paper`.
        data_dir: Folder of TensorFlow Datasets; `None` for `$TFDS_DATA_DIR`, else `~/tensorflow_datasets`.
        protocol: `"standard"`, `"paper"` or `"original_code"`.
        **options: `way`, `shot`, `queries` and the others of `ImageTasks`.

    Raises:
        ConfigurationError: If an option is out of its range.
        DataError: If the data is missing and cannot be downloaded.

    Example:

    >>> tasks = Cifar100("train", batch=50, seed=0, way=5, shot=1, train_queries=0)
    """

    protocols = ("standard", "paper", "original_code")
    input_shape = (32, 32, 3)

    def __init__(
        self,
        split: str,
        batch: int,
        seed: int,
        *,
        splits: Literal["cifar_fs", "fc100"] = "cifar_fs",
        data_dir: str | None = None,
        protocol: ProtocolName = "standard",
        **options: Any,
    ) -> None:
        if splits not in _SPLITS:
            raise ConfigurationError(f"splits must be one of {', '.join(_SPLITS)}. Received: splits={splits}.")
        bank = cached_bank("cifar100", {"order": 1}, lambda: load(data_dir))
        if protocol == "paper":
            train = bank.parts(bank.first, np.full(_CLASSES, TRAIN_IMAGES))
            banks = {"train": train, "validation": train, "test": bank.parts(bank.first + TRAIN_IMAGES, np.full(_CLASSES, TEST_IMAGES))}
        else:
            banks = bank.split(class_list(splits))
        super().__init__(banks, split, batch, seed, protocol=protocol, **options)


def load(data_dir: str | None = None) -> ClassBank:
    """All of CIFAR-100 as a `ClassBank`: within a class the 500 training images, then the 100 test images, each by their `id`.

    Classes are in the order of CIFAR-FS, so that its splits are neighbouring images and each is held in memory once.
    """
    builder = prepared("cifar100", "CIFAR-100", data_dir)
    names = [name for split in class_list("cifar_fs").values() for name in split]
    with intact("CIFAR-100", builder.data_dir):
        place = np.array([names.index(name) for name in builder.info.features["label"].names])
        images, labels = [], []
        for source, least in (("train", TRAIN_IMAGES), ("test", TEST_IMAGES)):
            data = builder.as_dataset(split=source, shuffle_files=False).batch(1024).as_numpy_iterator()
            columns = zip(*((batch["id"], batch["image"], batch["label"]) for batch in data), strict=True)
            ids, pixels, numbers = (np.concatenate(column) for column in columns)
            if set(np.bincount(numbers, minlength=_CLASSES)) != {least}:
                raise DataError(f"CIFAR-100's {source} part in {builder.data_dir} must have {_CLASSES} classes of {least} images each.")
            order = np.argsort(ids)
            images.append(pixels[order])
            labels.append(place[numbers[order]])
    return ClassBank.from_labels(np.concatenate(images), np.concatenate(labels), names)
