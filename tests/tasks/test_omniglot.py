import io

import numpy as np
import pytest

pytest.importorskip("tensorflow_datasets")

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import Omniglot

# The list is part of what a result means: it must never change.
FIRST_HELD_OUT = ("background/Alphabet_of_the_Magi_4", "background/Anglo-Saxon_Futhorc_19", "background/Arcadian_14")


@pytest.fixture(scope="module")
def data(prepared):
    return prepared("omniglot")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        patch.setenv("STOCHLWTA_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def splits(data):
    return {split: Omniglot(split, batch=2, seed=0, way=20, validation_classes=0) for split in ("train", "validation", "test")}


def test_characters_and_drawings(splits):
    train, validation, test = (splits[split].bank for split in ("train", "validation", "test"))
    assert (len(train), len(test)) == (964, 659) and len({*train.names, *test.names}) == 1623
    assert set(train.count) == set(test.count) == {20} and train.images.shape[1:] == Omniglot.input_shape == (28, 28, 1)
    assert validation.names == train.names


def test_the_papers_split_is_one_shuffle_of_all(data, splits):
    train, test = (
        Omniglot(split, batch=2, seed=seed, protocol="paper", validation_classes=0).bank for split, seed in (("train", 0), ("test", 7))
    )
    assert (len(train), len(test)) == (974, 649)
    assert {*train.names, *test.names} == {*splits["train"].bank.names, *splits["test"].bank.names}
    assert sum(name.startswith("evaluation") for name in train.names) == pytest.approx(974 * 659 / 1623, abs=45)  # a shuffle, 4 sigma


def test_images_are_the_sources_resized(data, splits):
    """Against Pillow, whose bilinear filter also averages; its pixels may differ by rounding."""
    from PIL import Image

    part = {name: np.asarray(splits["test"].bank.of(name)[..., 0], int) for name in splits["test"].bank.names}
    for example in data.as_dataset(split="test[:20]").as_numpy_iterator():
        expected = 255 - np.asarray(Image.fromarray(example["image"][..., 0]).resize((28, 28), Image.Resampling.BILINEAR), int)
        drawings = part[f"evaluation/{data.info.features['label'].int2str(example['label'])}"]
        assert np.abs(drawings - expected).reshape(20, -1).max(1).min() <= 2


def test_as_published_paper_is_white_and_nothing_is_averaged(data, splits):
    published = Omniglot("train", batch=2, seed=0, invert=False, antialias=False)
    white, black = (tasks.bank.images.mean() / 255 for tasks in (published, splits["train"]))
    assert white > 0.85 and black < 0.15
    example = next(data.as_dataset(split="train[:1]").as_numpy_iterator())
    source = example["image"][..., 0].astype(float)
    at = (np.arange(28) + 0.5) * 105 / 28 - 0.5  # bilinear by hand
    low, part = np.floor(at).astype(int), at % 1
    rows = source[low] * (1 - part)[:, None] + source[low + 1] * part[:, None]
    expected = np.rint(rows[:, low] * (1 - part) + rows[:, low + 1] * part)
    drawings = published.bank.of(f"background/{data.info.features['label'].int2str(example['label'])}")[..., 0].astype(int)
    assert np.abs(drawings - expected).reshape(20, -1).max(1).min() <= 1


def test_a_hundred_fixed_characters_are_held_out_for_validation(splits):
    names = {s: Omniglot(s, batch=2, seed=1).bank.names for s in ("train", "validation", "test")}
    background = np.array(sorted(splits["train"].bank.names))
    assert set(names["validation"]) == set(background[np.random.RandomState(0).permutation(964)[:100]])
    assert names["validation"][:3] == FIRST_HELD_OUT
    assert len(names["train"]) == 864 and not {*names["train"]} & {*names["validation"]} and not {*names["validation"]} & {*names["test"]}


def test_validation_characters_are_kept_from_training(splits):
    names = {s: set(Omniglot(s, batch=2, seed=1, validation_classes=64).bank.names) for s in ("train", "validation", "test")}
    assert len(names["validation"]) == 64 and names["train"] | names["validation"] == set(splits["train"].bank.names)
    assert not names["train"] & names["validation"] and names["test"] == set(splits["test"].bank.names)


def test_tasks(splits):
    task = splits["train"].sample(0)
    assert task.support_x.shape == (2, 20, 28, 28, 1) and task.query_x.shape == (2, 300, 28, 28, 1)
    assert 0 <= np.min(task.support_x) and np.max(task.support_x) == 1


@pytest.mark.parametrize("place", ["urllib.request.urlopen", "tensorflow_datasets.core.DatasetBuilder.download_and_prepare"])
def test_missing_data_is_one_line_that_names_the_folder(tmp_path, monkeypatch, place):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))

    def offline(*_, **__):
        raise ConnectionError("no route to host\nmore")

    monkeypatch.setattr("urllib.request.urlopen", lambda *_, **__: io.BytesIO())
    monkeypatch.setattr(place, offline)
    with pytest.raises(DataError) as error:
        Omniglot("train", batch=2, seed=0, data_dir=str(tmp_path / "data"))
    message = str(error.value)
    assert str(tmp_path / "data") in message and "TFDS_DATA_DIR" in message and "no route to host" in message and "\n" not in message
    assert not list(tmp_path.iterdir())


def test_wrong_option_is_named():
    with pytest.raises(ConfigurationError, match="validation_classes must be from 0 to 963. Received: validation_classes=964."):
        Omniglot("train", batch=2, seed=0, validation_classes=964)
