"""mini-ImageNet: splits, sizes and protocols; the real data where `MINIIMAGENET_DIR` says it is."""

import io
import logging
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import MiniImageNet, miniimagenet
from stochlwta_tf.tasks import miniimagenet_layouts as layouts
from stochlwta_tf.tasks.class_lists import class_list
from tests.helpers.miniimagenet_copies import CLASSES, NAMES, NUMBERS, as_pickles, files

pytestmark = pytest.mark.usefixtures("cache")


def test_images_are_those_of_the_files_by_class_and_name(flat):
    bank = miniimagenet.load(layouts.find(flat))
    for split, wnid, file in files(flat):
        place = sorted(NUMBERS).index(int(file.stem[-8:]))
        np.testing.assert_array_equal(bank.of(f"{split}/{wnid}")[place], np.asarray(Image.open(file).convert("RGB")))


def test_standard_splits_are_the_lists_and_are_decoded_once(flat, monkeypatch):
    banks = {s: MiniImageNet(s, 2, 0, data_dir=str(flat), way=2, queries=3).bank for s in NAMES}
    for split, bank in banks.items():
        assert bank.names == tuple(f"{split}/{wnid}" for wnid in sorted(CLASSES[split]))
    monkeypatch.setattr(miniimagenet, "load", None)  # would fail if it were called again
    monkeypatch.setenv("MINIIMAGENET_DIR", str(flat))
    tasks = MiniImageNet("test", 2, 0, way=2, queries=3)
    assert tasks.sample(0).support_x.shape == (2, 2, *tasks.input_shape) == (2, 2, 84, 84, 3) and isinstance(tasks.bank.images, np.memmap)


def test_smaller_images_are_those_of_a_picture_file_at_that_size(flat):
    whole = MiniImageNet("test", 1, 0, data_dir=str(flat), way=2, queries=1)
    small = MiniImageNet("test", 1, 0, data_dir=str(flat), way=2, queries=1, size=42)
    assert small.input_shape == (42, 42, 3) == MiniImageNet.shapes({"size": 42, "way": 5})[0]
    assert small.bank.names == whole.bank.names
    file = io.BytesIO()
    Image.fromarray(whole.bank.images[3]).save(file, "PNG")
    np.testing.assert_array_equal(small.bank.images[3], MiniImageNet.picture({"shape": (42, 42, 3)}, file.getvalue(), "a.png"))
    with pytest.raises(ConfigurationError, match="size must be from 1 to 84. Received: size=85."):
        MiniImageNet("test", 1, 0, data_dir=str(flat), size=85)


def test_a_changed_file_is_read_again(flat, tmp_path):
    folder = tmp_path / "data"
    shutil.copytree(flat, folder)
    before = MiniImageNet("test", 2, 0, data_dir=str(folder), way=2, queries=3).bank
    *_, (_, wnid, file) = (f for f in files(folder) if f[0] == "test")
    Image.new("RGB", (84, 84), "red").save(file)
    os.utime(file, (1, 1))
    after = MiniImageNet("test", 2, 0, data_dir=str(folder), way=2, queries=3).bank
    assert (before.images != after.images).reshape(len(after.images), -1).any(1).sum() == 1


def test_paper_divides_the_images_of_each_class(flat):
    banks = {s: MiniImageNet(s, 2, 0, data_dir=str(flat), way=2, queries=0, protocol="paper").bank for s in NAMES}
    standard = miniimagenet.load(layouts.find(flat))
    assert banks["train"].names == banks["validation"].names == banks["test"].names == standard.names
    assert set(banks["train"].count) == {3} and set(banks["test"].count) == {1}
    moved = 0
    for name in standard.names:
        pieces = [image.tobytes() for split in ("train", "test") for image in banks[split].of(name)]
        whole = [image.tobytes() for image in standard.of(name)]
        assert sorted(pieces) == sorted(whole)
        moved += pieces != whole
    assert moved > 3


def test_papers_shuffle_is_the_same_for_all_time():
    name, n = "train/n01532829", 600
    images = np.arange(n).astype(">u2").view("uint8").reshape(n, 1, 1, 2)
    order = miniimagenet.shuffled(miniimagenet.ClassBank(images, [0], [n], [name])).images.reshape(n, 2).copy().view(">u2").ravel()
    assert sorted(order) == list(range(n)) and order[:6].tolist() == [179, 50, 464, 542, 367, 77]


def test_original_code_labels_by_file_number(flat):
    train, test = (MiniImageNet(s, 2, 0, data_dir=str(flat), way=2, protocol="original_code").bank for s in ("train", "test"))
    assert train.names == tuple(f"train/{n}" for n in sorted(NUMBERS)) and set(train.count) == {2}
    for bank, split in ((train, "train"), (test, "test")):
        for number in NUMBERS:
            expected = [np.asarray(Image.open(flat / "images" / f"{wnid}{number:08}.jpg")) for wnid in sorted(CLASSES[split])]
            np.testing.assert_array_equal(bank.of(f"{split}/{number}"), expected)


def test_original_code_needs_file_numbers(flat, tmp_path):
    as_pickles(flat, tmp_path)
    with pytest.raises(DataError, match="n0153282900000006.jpg. Received: a pickle cache, without file names, in ") as error:
        MiniImageNet("train", 2, 0, data_dir=str(tmp_path), protocol="original_code")
    assert "\n" not in str(error.value)


def test_missing_images_are_noted_and_said_once(flat, caplog):
    with caplog.at_level(logging.WARNING):
        tasks = [MiniImageNet(s, 2, 0, data_dir=str(flat), way=2, queries=0) for s in NAMES]
    assert all("8 of 38,400 train images" in t.notes[0] for t in tasks)
    assert [r.getMessage().count("8 of 12,000 test images") for r in caplog.records] == [1]


@pytest.mark.badinput
def test_too_few_images_are_named(flat):
    with pytest.raises(DataError, match="train split: Class 'train/n0.*' has too few images for shot \\+ queries: .* Received: 4 for 16"):
        MiniImageNet("train", 2, 0, data_dir=str(flat), way=2)


def test_tfds_builder_gives_the_same(flat, tmp_path):
    tfds = pytest.importorskip("tensorflow_datasets")
    from stochlwta_tf.tasks.miniimagenet_builder import MiniImageNetBuilder

    builder = MiniImageNetBuilder(data_dir=str(tmp_path))
    builder.download_and_prepare(download_config=tfds.download.DownloadConfig(manual_dir=str(flat)))
    bank = miniimagenet.load(layouts.find(flat))
    for split in NAMES:
        examples = list(builder.as_dataset(split=split).as_numpy_iterator())
        assert len(examples) == 8
        for example in examples:
            wnid, file = builder.info.features["label"].int2str(example["label"]), example["file_name"].decode()
            place = sorted(NUMBERS).index(int(file[9:17]))
            np.testing.assert_array_equal(example["image"], bank.of(f"{split}/{wnid}")[place])


@pytest.fixture(scope="module")
def real():
    folder = os.environ.get("MINIIMAGENET_DIR")
    if not folder or not Path(folder).is_dir():
        pytest.skip("mini-ImageNet is not there; set MINIIMAGENET_DIR to its folder")
    return layouts.find(folder)


def test_real_data_has_the_field_s_classes(real):
    for split, wnids in class_list("miniimagenet").items():
        examples = real.examples(split)
        assert {e.label for e in examples} == set(wnids) and len(examples) <= miniimagenet.IMAGES[split]
    assert len(examples) == 12000 and all(e.number() for e in examples)
    np.testing.assert_equal(examples[0].read().shape, (84, 84, 3))
