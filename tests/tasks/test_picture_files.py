"""Which files of one's own data are pictures, of which class and split, and what is left out."""

import os

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import DataError
from tests.helpers.picture_folder import make

pytestmark = pytest.mark.usefixtures("cache")


def test_a_csv_is_the_same(folder):
    table = folder.parent / "table.csv"
    rows = [f"data/{p.relative_to(folder)},{p.relative_to(folder).parts[0]}" for p in folder.rglob("*.png")]
    table.write_text("\n".join(["filename,label", *rows]))
    a, b = (make(path, class_split=(5, 0, 0)).bank for path in (table, folder))
    assert a.names == b.names
    np.testing.assert_array_equal(a.images, b.images)


def test_folders_of_splits_are_the_splits(folder):
    split = folder.parent / "split"
    for name, classes in (("train", ("c0", "c1", "c2")), ("Valid", ("c3",)), ("test", ("c4",))):
        (split / name).mkdir(parents=True)
        for each in classes:
            (folder / each).rename(split / name / each)
    banks = {s: make(split, s).bank.names for s in ("train", "validation", "test")}
    assert banks == {"train": ("c0", "c1", "c2"), "validation": ("c3",), "test": ("c4",)}
    (split / "test" / "c0").mkdir()
    with pytest.raises(DataError, match="a class must be in one split, .* set task.class_split. Received: 'c0' in train and test."):
        make(split)


@pytest.mark.parametrize(
    "copy",
    [
        ".ipynb_checkpoints/a-checkpoint.png",
        "deeper/.ipynb_checkpoints/a-checkpoint.png",
        ".thumbnails/more/a.png",
        "@eaDir/a.png/SYNOPHOTO_THUMB_M.png",
        "__MACOSX/a.png",
        "#recycle/a.png",
    ],
)
def test_what_systems_and_editors_leave_is_no_picture(folder, copy):
    for c in range(5):
        (folder / f"c{c}" / copy).parent.mkdir(parents=True)
        (folder / f"c{c}" / copy).write_bytes((folder / f"c{c}" / "a.png").read_bytes()[:-1])
    (folder / "__MACOSX").mkdir()
    (folder / ".ipynb_checkpoints").mkdir()
    tasks = make(folder, class_split=(5, 0, 0))
    assert tasks.bank.count.tolist() == [3] * 5 and tasks.bank.names == tuple(f"c{c}" for c in range(5))
    assert tasks.notes == ()


@pytest.mark.parametrize("ending", [".jfif", ".JPG", ".jp2", ".tga", ".webp"])
def test_what_pillow_reads_is_read(folder, ending):
    Image.new("RGB", (9, 9), "red").save(folder / "c1" / f"x{ending}", "JPEG")
    assert make(folder, class_split=(5, 0, 0)).bank.count.tolist() == [3, 4, 3, 3, 3]


def test_what_is_left_out_is_counted(folder, caplog):
    (folder / "c0" / "x.heic").write_bytes(b"")
    (folder / "c1" / "README").write_bytes(b"")
    (folder / "c1" / "x.eps").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0")  # a program, which Pillow would give to an interpreter
    (folder / "c2" / "gone.png").symlink_to(folder / "nowhere.png")
    (folder / "stray.png").write_bytes(b"")
    make(folder, class_split=(5, 0, 0))
    kinds = ".eps (1), .heic (1), .txt (5), links that lead nowhere (1), pictures that are in no folder (1), without an ending (1)"
    assert caplog.messages == [f"{folder}: left out, as no pictures in a class's folder: {kinds}."]
    (folder / "c1" / "x.png").write_bytes(b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(DataError, match="c1/x.png .it is not a picture"):
        make(folder)


def test_linked_folders_are_read_once(folder):
    elsewhere = folder.parent / "elsewhere"
    (folder / "c1").rename(elsewhere)
    (folder / "c1").symlink_to(elsewhere)
    (elsewhere / "round").symlink_to(elsewhere)
    (folder / "c2" / "more").symlink_to(elsewhere / "deeper")
    tasks = make(folder, class_split=(5, 0, 0), duplicates="keep")
    assert tasks.bank.count.tolist() == [3, 3, 4, 3, 3]


def test_names_are_text_however_a_system_writes_them(folder):
    (folder / "c0").rename(folder / "cafe\u0301")  # as macOS writes it
    os.rename(os.fsencode(folder / "c1"), os.fsencode(folder) + b"/gr\xfcn")  # Latin-1
    (folder.parent / "s.yaml").write_text("train: [caf\u00e9, 'gr\\xfcn', c2]\nval: [c3]\ntest: [c4]\n", encoding="utf-8")
    tasks = make(folder, split_file=str(folder.parent / "s.yaml"))
    assert tasks.bank.names == ("caf\u00e9", "gr\\xfcn", "c2")
    tasks.bank.names[1].encode()
    assert make(folder, classes=["cafe\u0301"]).bank.names == ("caf\u00e9",)
    (folder.parent / "t.csv").write_text("filename,label\ndata/caf\u00e9/a.png,a\ndata/caf\u00e9/b.png,a\n", encoding="utf-8")
    assert make(folder.parent / "t.csv", queries=1, class_split=(1, 0, 0)).bank.count.tolist() == [2]
    (folder / "c2").rename(folder / "caf\u00e9")
    with pytest.raises(DataError, match="two folders have the name 'caf\u00e9', in two ways of writing its letters"):
        make(folder)
