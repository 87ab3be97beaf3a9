"""The layouts in which mini-ImageNet is distributed hold the same classes and images; each error is one line that names the file."""

import pickle
import shutil
import zipfile

import numpy as np
import pytest

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks import MiniImageNet, miniimagenet
from stochlwta_tf.tasks import miniimagenet_layouts as layouts
from tests.helpers.miniimagenet_copies import CLASSES, as_folders, as_pickles, as_zip, files

pytestmark = pytest.mark.usefixtures("cache")


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
