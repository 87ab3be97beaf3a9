"""mini-ImageNet: the layouts give the same, wrong data is one line; the real data where `MINIIMAGENET_DIR` says it is."""

import io
import logging
import os
import pickle
import shutil
import zipfile
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import MiniImageNet, miniimagenet
from stochlwta_tf.tasks import miniimagenet_layouts as layouts
from stochlwta_tf.tasks.class_lists import class_list

CLASSES = {split: list(wnids)[:2] for split, wnids in class_list("miniimagenet").items()}
NUMBERS = (11, 2, 5, 40)  # not in order, as no CSV need be
NAMES = {"train": "train", "validation": "val", "test": "test"}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """`images/` and the CSVs; a class has four images."""
    folder, rng = tmp_path_factory.mktemp("flat"), np.random.default_rng(0)
    (folder / "images").mkdir()
    for split, wnids in CLASSES.items():
        rows = [(f"{wnid}{number:08}.jpg", wnid) for wnid in wnids for number in NUMBERS]
        (folder / f"{NAMES[split]}.csv").write_text("filename,label\n" + "".join(f"{file},{wnid}\n" for file, wnid in rows))
        for file, _ in rows:
            small = Image.fromarray(rng.integers(0, 256, (6, 6, 3), "uint8"))
            small.resize((84, 84), Image.Resampling.BICUBIC).save(folder / "images" / file, quality=90)
    return folder


def files(flat):
    """Triples (split, class, file) in any order."""
    for split in NAMES:
        for line in (flat / f"{NAMES[split]}.csv").read_text().splitlines()[1:]:
            file, wnid = line.split(",")
            yield split, wnid, flat / "images" / file


def as_zip(flat, folder, csv_inside):
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for *_, file in files(flat):
            archive.write(file, f"images/{file.name}")
        for name in NAMES.values():
            if csv_inside:
                archive.write(flat / f"{name}.csv", f"{name}.csv")
            else:
                shutil.copy(flat / f"{name}.csv", folder)


def as_folders(flat, folder, splits):
    for split, wnid, file in files(flat):
        parent = folder / NAMES[split] / wnid if splits else folder / wnid
        parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, parent)


def as_pickles(flat, folder, protocol=2):
    for split, name in NAMES.items():
        images, classes = [], {}
        for _, wnid, file in sorted(f for f in files(flat) if f[0] == split):
            classes.setdefault(wnid, []).append(len(images))
            images.append(np.asarray(Image.open(file).convert("RGB")))
        content = {"image_data": np.stack(images), "class_dict": classes}
        (folder / f"mini-imagenet-cache-{name}.pkl").write_bytes(pickle.dumps(content, protocol))


def same(a, b):
    np.testing.assert_array_equal(a.images, b.images)
    assert a.names == b.names and a.count.tolist() == b.count.tolist() and a.first.tolist() == b.first.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda flat, folder: as_zip(flat, folder, csv_inside=False),
        lambda flat, folder: as_zip(flat, folder, csv_inside=True),
        lambda flat, folder: as_folders(flat, folder, splits=True),
        lambda flat, folder: as_folders(flat, folder, splits=False),
        as_pickles,
        lambda flat, folder: as_pickles(flat, folder, protocol=5),
    ],
    ids=["zip", "zip with CSVs", "folders of splits", "class folders", "pickles", "pickles, protocol 5"],
)
def test_all_layouts_give_the_same_classes_and_images(flat, tmp_path, make):
    folder = tmp_path / "data"
    folder.mkdir()
    make(flat, folder)
    same(miniimagenet.load(layouts.find(folder)), miniimagenet.load(layouts.find(flat)))
    assert not [p for p in folder.rglob("*.jpg") if "zip" in str(list(folder.iterdir()))]  # nothing is extracted


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


def broken(flat, folder, what):
    if what == "no folder":
        return f"mini-ImageNet is not in {folder / 'data'}.*no folder"
    data = folder / "data"
    if what == "empty folder":
        data.mkdir()
        return f"mini-ImageNet is not in {data}. It may hold images/.*train.csv, val.csv and test.csv.*cache-train.pkl.*an empty folder"
    shutil.copytree(flat, data)
    *_, (_, wnid, file) = files(data)
    if what == "truncated JPEG":
        file.write_bytes(file.read_bytes()[:700])
        return f"{file}: cannot be decoded: .*truncated.*Received: 700 bytes"
    if what == "missing file":
        file.unlink()
        return rf"{data}/test.csv, line 9: the file must be in .*Received: {file.name},{wnid}\."
    if what == "missing CSV":
        (data / "val.csv").unlink()
        return f"{data}/val.csv is missing"
    if what == "wrong columns":
        (data / "val.csv").write_text("a,b\n")
        return f"{data}/val.csv: the first line must be filename,label. Received: 'a,b'"
    if what == "class in two splits":
        shutil.copy(data / "train.csv", data / "test.csv")
        return f"Class '{CLASSES['train'][0]}' is in two splits, train and test"
    if what == "not a zip":
        shutil.rmtree(data / "images")
        (data / "images.zip").write_text("<html>")
        return f"{data}/images.zip: cannot be read as a zip"
    if what == "damaged member":
        as_zip(flat, data, csv_inside=False)
        shutil.rmtree(data / "images")
        content = (data / "images.zip").read_bytes()
        place = content.index(b"\xff\xd8") + 600
        (data / "images.zip").write_bytes(content[:place] + b"????" + content[place + 4 :])
        return f"{data}/images.zip/images/n.*.jpg: cannot be read. Received: Bad CRC-32"
    shutil.rmtree(data / "images")
    for csv in data.glob("*.csv"):
        csv.unlink()
    as_pickles(flat, data)
    (data / "mini-imagenet-cache-val.pkl").write_text("<!DOCTYPE html>\n<p>Sign in")
    return "cache-val.pkl: a web page, get it again .*Received: a file that begins with b'<!DOCTYPE html>"


@pytest.mark.badinput
@pytest.mark.parametrize(
    "what",
    ["no folder", "empty folder", "truncated JPEG", "missing file", "missing CSV", "wrong columns", "class in two splits", "not a zip"]
    + ["damaged member", "page named .pkl"],
)
def test_what_is_wrong_is_one_line_that_names_the_file(flat, tmp_path, what):
    message = broken(flat, tmp_path, what)
    with pytest.raises(DataError, match=message) as error:
        MiniImageNet("train", 2, 0, data_dir=str(tmp_path / "data"))
    assert "\n" not in str(error.value)


@pytest.mark.badinput
def test_pickles_of_something_else_are_named(flat, tmp_path):
    as_pickles(flat, tmp_path)
    path = tmp_path / "mini-imagenet-cache-train.pkl"
    for content, message in (
        ({"images": 1}, "must hold image_data, and class_dict"),
        ({"image_data": np.zeros((2, 84, 84, 3)), "class_dict": {"a": [0]}}, r"must be uint8 .*Received: float64 \[2, 84, 84, 3\]"),
        ({"image_data": np.zeros((2, 84, 84, 3), "uint8"), "class_dict": {"a": [2]}}, "places of class a must be below 2. Received: 2"),
    ):
        path.write_bytes(pickle.dumps(content))
        with pytest.raises(DataError, match=f"{path}: .*{message}"):
            miniimagenet.load(layouts.find(tmp_path))


@pytest.mark.badinput
def test_too_few_images_are_named(flat):
    with pytest.raises(DataError, match="train split: Class 'train/n0.*' has 4 images, but shot \\+ queries needs 16"):
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


def test_leftovers_of_systems_are_no_images(flat, tmp_path):
    as_folders(flat, tmp_path, splits=True)
    expected = miniimagenet.load(layouts.find(tmp_path))
    wnid = CLASSES["train"][0]
    (picture,) = (tmp_path / "train" / wnid).glob("*00002.jpg")
    for leftover in (f"train/{wnid}/.ipynb_checkpoints", f"train/{wnid}/@eaDir", "train/@eaDir", "train/__MACOSX", "test/.thumbnails"):
        (tmp_path / leftover).mkdir()
        shutil.copy(picture, tmp_path / leftover / "copy.jpg")
    found = miniimagenet.load(layouts.find(tmp_path))
    assert found.names == expected.names
    same(found, expected)


def test_a_leftover_in_a_zip_does_not_take_an_images_place(flat, tmp_path):
    as_zip(flat, tmp_path, csv_inside=True)
    _, _, file = next(files(flat))
    with zipfile.ZipFile(tmp_path / "images.zip", "a") as archive:
        for folder in ("images/.thumbnails", "images/@eaDir", "__MACOSX/images"):
            archive.writestr(f"{folder}/{file.name}", b"no picture")
    same(miniimagenet.load(layouts.find(tmp_path)), miniimagenet.load(layouts.find(flat)))


@pytest.mark.badinput
def test_an_image_named_twice_is_one_line(flat, tmp_path):
    shutil.copytree(flat, tmp_path / "flat")
    table = tmp_path / "flat" / "val.csv"
    lines = table.read_text().splitlines()
    table.write_text("\n".join([*lines, lines[2]]) + "\n")
    with pytest.raises(DataError, match=rf"val.csv, line {len(lines) + 1}: a file must have one line. Received: .*jpg a second time\.$"):
        miniimagenet.load(layouts.find(tmp_path / "flat"))
    (tmp_path / "pickles").mkdir()
    as_pickles(flat, tmp_path / "pickles")
    path = tmp_path / "pickles" / "mini-imagenet-cache-val.pkl"
    content = pickle.loads(path.read_bytes())
    first, second = content["class_dict"]
    for places in ([0, 1, 2, 2], [0, 1, 2, content["class_dict"][second][0]]):
        path.write_bytes(pickle.dumps({**content, "class_dict": {**content["class_dict"], first: places}}))
        with pytest.raises(DataError, match="an image must have one place, in one class. Received: one of class n"):
            miniimagenet.load(layouts.find(tmp_path / "pickles"))
