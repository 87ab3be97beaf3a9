"""Wrong data: folders of images, CSV files, mini-ImageNet's layouts, prepared data, and places that no file can have."""

import pickle

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks import Glyphs, ImageFolder, MiniImageNet
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.class_split import from_file

pytestmark = pytest.mark.badinput
LONG = "x" * 300


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Five classes of three pictures."""
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    values = np.random.default_rng(0)
    for label in range(5):
        (tmp_path / "data" / f"c{label}").mkdir(parents=True)
        for number in range(3):
            pixels = values.integers(0, 256, (9, 9, 3), "uint8")
            Image.fromarray(pixels).save(tmp_path / "data" / f"c{label}" / f"{number}.png")
    return tmp_path / "data"


def make(data_dir, **options):
    options = {"size": 8, "way": 2, "shot": 1, "queries": 1, "class_split": (3, 0, 2), **options}
    return ImageFolder("train", 2, 0, data_dir=str(data_dir), **options)


def line_of(function, *arguments, **options):
    with pytest.raises(DataError) as error:
        function(*arguments, **options)
    assert "\n" not in str(error.value) and len(str(error.value)) < 700
    return str(error.value)


PICTURES = {
    "empty": b"",
    "zeros": b"\0" * 1000,
    "a web page": b"<!DOCTYPE html>\n<p>Sign in",
    "a JPEG's first bytes": b"\xff\xd8\xff\xe0\0\x10JFIF\0",
    "a PNG's first bytes": b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR",
    "a TIFF's first bytes": b"II*\0\x08\0\0\0\xff\xff",
    "a GIF without frames": b"GIF89a\x01\0\x01\0\0\0\0;",
    "a picture too large for memory": b"P5 900000 900000 255\n",
    "a pickle": pickle.dumps([1, 2, 3]),
}


@pytest.mark.parametrize("content", PICTURES)
def test_a_picture(folder, content):
    (folder / "c1" / "0.png").write_bytes(PICTURES[content])
    assert f"{folder}: 1 of 15 pictures cannot be decoded; replace them, or" in (line := line_of(make, folder)) and "c1/0.png (" in line


@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_picture_that_was_cut(folder, part):
    data = (folder / "c1" / "0.png").read_bytes()
    (folder / "c1" / "0.png").write_bytes(data[: int(part * len(data))])
    assert "Received: c1/0.png (" in line_of(make, folder)


CSVS = {
    "empty": (b"", "must have the columns filename and label. Received: ''."),
    "the columns alone": (b"filename,label\n", "or name pictures. Received: none."),
    "another column": (b"filename,class\nc0/0.png,a\n", "must have the columns filename and label"),
    "semicolons": (b"filename;label\nc0/0.png;a\n", "must have the columns filename and label"),
    "latin-1": ("filename,label\nc0/0.png,é\n".encode("latin-1"), "not a CSV file in UTF-8"),
    "utf-16": ("filename,label\n".encode("utf-16"), "not a CSV file in UTF-8"),
    "zeros": (b"filename,label\n" + b"\0" * 50, "list.csv"),  # before Python 3.11 the csv module refuses them
    "a label too few": (b"filename,label\nc0/0.png\n", "line 2: needs a file that is there, and a label. Received: 0.png,None."),
    "an empty label": (b"filename,label\nc0/0.png,\n", "line 2: needs a file that is there, and a label."),
    "an empty name": (b"filename,label\n,a\n", "line 2: needs a file that is there"),
    "a folder": (b"filename,label\nc0,a\n", "line 2: needs a file that is there"),
    "a file that is missing": (b"filename,label\nc0/0.png,a\nc0/9.png,a\n", "line 3: needs a file that is there"),
    "a long name": (f"filename,label\n{LONG},a\n".encode(), "line 2: needs a file that is there"),
    "a field of a megabyte": (b'filename,label\n"' + b"x" * 10**6 + b'",a\n', "not a CSV file in UTF-8. Received: field larger"),
    "an open quote": (b'filename,label\n"c0/0.png,a\n', "line 2: needs a file that is there"),
    "not a picture": (b"filename,label\nlist.csv,a\n", "no picture of class 'a' can be decoded. Received: list.csv (it is not a picture"),
}


@pytest.mark.parametrize("case", CSVS)
def test_a_csv(folder, case):
    content, message = CSVS[case]
    (folder / "list.csv").write_bytes(content)
    assert message in line_of(make, folder / "list.csv")


SPLITS = {
    "empty": ("s.yaml", b"", "must map train, validation, test to lists of classes. Received: None."),
    "names alone": ("s.yaml", b"{train: c0}", "must map train, validation, test to lists"),
    "classes of numbers": ("s.yaml", b"{1: [c0]}", "splits are called train, validation, test. Received: 1."),
    "a wrong date": ("s.yaml", b"{train: [2020-13-45]}", "classes are not among"),
    "very deep": ("s.yaml", b"[" * 5000, "not a text file of its kind"),
    "a control character": ("s.yaml", b"{train: [a\x07]}", "not a text file of its kind"),
    "code": ("s.yaml", b"!!python/object/apply:os.system ['false']", "must map train, validation, test to lists"),
    "latin-1": ("s.json", '{"train": ["é"]}'.encode("latin-1"), "not a text file of its kind"),
    "a CSV without rows": ("s.csv", b"split,class\n", "must map train, validation, test to lists"),
    "a CSV with another split": ("s.csv", b"split,class\ndev,c0\n", "splits are called train, validation, test. Received: dev."),
    "a CSV with half a row": ("s.csv", b"split,class\ntrain\n", "must map train, validation, test to lists"),
    "a CSV with zeros": ("s.csv", b"split,class\ntrain,\0\n", ""),  # before Python 3.11 the csv module refuses them
}


@pytest.mark.parametrize("case", SPLITS)
def test_a_split_file(folder, case):
    name, content, message = SPLITS[case]
    (folder.parent / name).write_bytes(content)
    assert message in line_of(make, folder, split_file=str(folder.parent / name))


@pytest.mark.parametrize("place", ["~nobody_of_that_name/x", "a\0b", LONG], ids=["nobody's home", "a null byte", "a long name"])
def test_a_place_that_no_file_can_have(folder, monkeypatch, place):
    assert "data_dir must name a file or folder" in line_of(make, place)
    assert "split_file must name a file or folder" in line_of(from_file, place)
    assert "data_dir must name a file or folder" in line_of(MiniImageNet, "train", 2, 0, data_dir=place)
    if "\0" not in place:  # which no environment can hold
        monkeypatch.setenv("STOCHLWTA_CACHE", place)
        assert "STOCHLWTA_CACHE must name a file or folder" in line_of(Glyphs, "train", 2, 0)
        monkeypatch.setenv("MINIIMAGENET_DIR", place)
        assert "MINIIMAGENET_DIR must name a file or folder" in line_of(MiniImageNet, "train", 2, 0)


def test_prepared_data_in_a_file(folder, monkeypatch):
    (folder.parent / "file").touch()
    monkeypatch.setenv("STOCHLWTA_CACHE", str(folder.parent / "file"))
    assert "set STOCHLWTA_CACHE to a writable folder" in line_of(make, folder)


def test_images_of_mini_imagenet_that_are_a_file(tmp_path):
    (tmp_path / "images").touch()
    for name in ("train", "val", "test"):
        (tmp_path / f"{name}.csv").write_text("filename,label\n")
    assert f"{tmp_path / 'images'}: cannot be read: Not a directory." in line_of(MiniImageNet, "train", 2, 0, data_dir=str(tmp_path))


@pytest.mark.parametrize("damage", ["index cut", "index empty", "index of another kind", "images cut", "images changed", "images empty"])
def test_damaged_prepared_data_is_prepared_again(tmp_path, monkeypatch, damage):
    """No message is needed: the images are those of the data."""
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path))
    images = np.arange(4 * 9, dtype="uint8").reshape(4, 3, 3, 1)
    made = []

    def build():
        made.append(1)
        return ClassBank(images, [0, 2], [2, 2], ["a", "b"])

    cached_bank("small", {}, build)
    path = next(tmp_path.glob("small-*.json" if damage.startswith("index") else "small-*.npy"))
    data = path.read_bytes()
    changed = {"cut": data[:-5], "empty": b"", "changed": data[:-1] + b"\xff", "of another kind": b"[1, 2]"}[damage.partition(" ")[2]]
    path.unlink()
    path.write_bytes(changed)
    np.testing.assert_array_equal(cached_bank("small", {}, build).images, images)
    assert len(made) == 2
