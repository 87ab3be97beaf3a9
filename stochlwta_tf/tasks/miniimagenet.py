"""mini-ImageNet (Vinyals et al. 2016; splits of Ravi & Larochelle 2017): 100 classes of 600 colour images, 84x84."""

import hashlib
import json
import logging
import os
import zlib
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from PIL import Image
from pydantic import Field

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import miniimagenet_layouts as layouts
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.decoding import in_parallel
from stochlwta_tf.tasks.image_tasks import ImageTasks
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.tasks.reading import named, reading
from stochlwta_tf.tasks.task import SPLITS

IMAGES = {"train": 38400, "validation": 9600, "test": 12000}  # of the complete data set


class MiniImageNet(ImageTasks):
    """Few-shot tasks from mini-ImageNet, at 84x84x3 or smaller, read from any of four layouts (`miniimagenet_layouts`), decoded once
    and cached.

    The protocol decides the splits.  `standard`: the 64, 16 and 20 classes of Ravi & Larochelle.  `paper`: the same classes in all splits;
    of each class's images three quarters are for training and validation, one quarter for testing (450 and 150 of 600: 45,000 and 15,000
    images in all), by a fixed shuffle.  The paper only says 45,000 and 15,000 images; that these are
    images of the same classes is our reading.  `original_code`: a "class" is all images that have the same number within their classes'
    folders, as the published code labels them; each split has the files of the standard split.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        size: Height and width of the images; below 84, the data set's own, they are resized (Lanczos), once.
        data_dir: Folder of the data; `None` for `$MINIIMAGENET_DIR`, else `~/tensorflow_datasets/downloads/manual/miniimagenet`.
        protocol: `"standard"`, `"paper"` or `"original_code"`.
        **options: `way`, `shot`, `queries` and the others of `ImageTasks`.

    Attributes:
        notes: What a result must state about the data: whether images are missing.

    Raises:
        DataError: If the data is missing or damaged, or its files have no numbers where the protocol needs them.

    Example:

    >>> tasks = MiniImageNet("train", batch=4, seed=0, way=5, shot=1)
    """

    protocols = ("standard", "paper", "original_code")

    def __init__(
        self,
        split: str,
        batch: int,
        seed: int,
        *,
        size: Annotated[int, Field(ge=1, le=layouts.SIZE)] = layouts.SIZE,
        data_dir: str | None = None,
        protocol: ProtocolName = "standard",
        **options: Any,
    ) -> None:
        if not 1 <= size <= layouts.SIZE:
            raise ConfigurationError(f"size must be from 1 to {layouts.SIZE}. Received: size={size}.")
        folder = manual_dir(data_dir)
        with reading(folder):
            layout = layouts.find(folder)
            state: dict[str, Any] = {"files": hashlib.sha256(json.dumps(layout.state()).encode()).hexdigest()}
            bank = cached_bank("miniimagenet", state, lambda: load(layout))
            if size != layouts.SIZE:
                whole, state = bank, {**state, "size": size}
                bank = cached_bank("miniimagenet-resized", state, lambda: resized(whole, size))
        standard = _by_split(bank)
        counts = {name: int(part.count.sum()) for name, part in standard.items()}
        banks = standard
        if protocol == "paper":
            pool = cached_bank("miniimagenet-shuffled", state, lambda: shuffled(bank))
            train = pool.count * 3 // 4
            banks = {"train": pool.parts(pool.first, train), "test": pool.parts(pool.first + train, pool.count - train)}
            banks["validation"] = banks["train"]
        elif protocol == "original_code":
            banks = _by_split(cached_bank("miniimagenet-numbers", state, lambda: by_file_number(layout, bank)))
        super().__init__(banks, split, batch, seed, protocol=protocol, **options)
        less = [f"{counts[name]:,} of {n:,} {name} images" for name, n in IMAGES.items() if counts[name] < n]
        self.notes = (f"reduced mini-ImageNet: {', '.join(less)}",) if less else ()
        if split == "train" and less:
            logging.getLogger(__name__).warning("mini-ImageNet is not complete, which results must say: %s.", ", ".join(less))

    @classmethod
    def shapes(cls, options: dict[str, Any]) -> tuple[tuple[int, ...] | None, int | None]:
        return (options["size"], options["size"], 3), options["way"]


def manual_dir(data_dir: str | None = None) -> Path:
    """The folder of mini-ImageNet: the given one, else `$MINIIMAGENET_DIR`, else the manual folder of TensorFlow Datasets."""
    default = "~/tensorflow_datasets/downloads/manual/miniimagenet"
    what = "data_dir" if data_dir else "MINIIMAGENET_DIR"
    return named(data_dir or os.environ.get("MINIIMAGENET_DIR") or default, what)


def load(layout: layouts.Layout) -> ClassBank:
    """All images of a layout as a `ClassBank`; class names are such as `"train/n01532829"`."""
    images = np.empty((layout.most(), layouts.SIZE, layouts.SIZE, 3), "uint8")  # memory is taken as it is filled
    names: list[str] = []
    counts: list[int] = []
    owner: dict[str, str] = {}
    for split in SPLITS:
        examples = layout.examples(split)
        for example in examples:
            if owner.setdefault(example.label, split) != split:
                raise DataError(f"Class {example.label!r} is in two splits, {owner[example.label]} and {split}.")
        labels, count = np.unique([example.label for example in examples], return_counts=True)
        done = sum(counts)
        for i, pixels in enumerate(in_parallel(lambda example: example.read(), examples, f"mini-ImageNet, {split}")):
            images[done + i] = pixels
        names += [f"{split}/{label}" for label in labels]
        counts += count.tolist()
    return ClassBank(images[: sum(counts)], np.cumsum(counts) - counts, counts, names)


def resized(bank: ClassBank, size: int) -> ClassBank:
    """The bank with square images of another size, resized as `decode` resizes a picture file."""

    def small(image: np.ndarray) -> np.ndarray:
        return np.asarray(Image.fromarray(image).resize((size, size), Image.Resampling.LANCZOS))

    images = np.stack(list(in_parallel(small, list(bank.images), f"mini-ImageNet, {size}x{size}")))
    return ClassBank(images, bank.first, bank.count, bank.names)


def shuffled(bank: ClassBank) -> ClassBank:
    """The bank with the images of each class in an order that depends only on the class's name and number of images."""
    order = [
        first + np.random.RandomState(zlib.crc32(name.encode())).permutation(count)
        for name, first, count in zip(bank.names, bank.first, bank.count, strict=True)
    ]
    return ClassBank(bank.images[np.concatenate(order)], bank.first, bank.count, bank.names)


def by_file_number(layout: layouts.Layout, bank: ClassBank) -> ClassBank:
    """The same images, grouped into classes by file number, with names such as `"train/17"`.

    Raises:
        DataError: If a file has no number.
    """
    numbers = []
    for split in SPLITS:
        for example in layout.examples(split):
            number = example.number()
            if number is None:
                raise DataError(
                    "original_code labels an image by its file number, so it needs files with official names, such as"
                    f" n0153282900000006.jpg. Received: {example.file or 'a pickle cache, without file names'}, in {layout.folder}."
                )
            numbers.append((SPLITS.index(split), number))
    keys, labels = np.unique(numbers, axis=0, return_inverse=True)
    return ClassBank.from_labels(bank.images, labels.ravel(), [f"{SPLITS[split]}/{number}" for split, number in keys])


def _by_split(bank: ClassBank) -> dict[str, ClassBank]:
    return bank.split({split: [name for name in bank.names if name.startswith(f"{split}/")] for split in SPLITS})
