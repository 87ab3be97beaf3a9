import numpy as np
import pytest

from stochlwta_tf.tasks import ClassBank, omniglot
from stochlwta_tf.tasks.duplicates import Place, distinct, duplicates


def bank(values, names):
    images = np.array(values, "uint8").reshape(-1, 1, 1, 1)
    count = np.full(len(names), len(values) // len(names))
    return ClassBank(images, np.cumsum(count) - count, count, names)


def test_pairs_within_and_across_splits():
    found = duplicates({"train": bank([1, 2, 3, 2], "ab"), "test": bank([4, 3, 3, 5], "cd")})
    assert found == [
        (Place("train", "a", 1), Place("train", "b", 1)),
        (Place("train", "b", 0), Place("test", "c", 1)),
        (Place("train", "b", 0), Place("test", "d", 0)),
    ]


def test_an_image_of_two_splits_is_one_image():
    whole = bank([1, 2, 3, 4], "ab")
    assert duplicates({"train": whole, "validation": whole, "test": whole.subset("b")}) == []


def test_distinct_images_are_the_first_of_their_class():
    assert distinct(bank([7, 5, 7, 5, 7, 7], "ab")).tolist() == [0, 1, 3, 4]
    assert distinct(bank([1, 2, 3, 4], "ab")).tolist() == [0, 1, 2, 3]


def test_omniglot_has_one_duplicate_as_it_comes():
    """At 105x105, label 191, as the data set is known to have; and the same pair at 28x28."""
    tfds = pytest.importorskip("tensorflow_datasets")
    builder = tfds.builder("omniglot")
    if not builder.is_prepared():
        pytest.skip(f"Omniglot is not in {builder.data_dir}; set TFDS_DATA_DIR to the folder that holds omniglot/")
    data = builder.as_dataset(split="train", decoders={"image": tfds.decode.SkipDecoding()}).filter(lambda e: e["label"] == 191)
    raw = np.stack([builder.info.features["image"].decode_example(e["image"]).numpy()[..., :1] for e in data])
    name = builder.info.features["label"].int2str(191)
    found = duplicates({"train": ClassBank(raw, [0], [20], [f"background/{name}"])})
    assert len(found) == 1 and raw.shape == (20, 105, 105, 1)
    assert duplicates({"all": omniglot.load()}) == [tuple(Place("all", *place[1:]) for place in found[0])]
