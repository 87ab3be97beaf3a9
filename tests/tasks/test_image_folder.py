"""One's own images: modes, sizes, class splits, and what is said of wrong ones."""

import io
import json
import os

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import ImageFolder, image_folder
from stochlwta_tf.tasks.class_split import by_seed, from_file
from stochlwta_tf.tasks.decoding import decode

SPLIT = {"train": ["c0", "c1", "c2"], "val": ["c3"], "test": ["c4"]}


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    """Five classes of three one-coloured pictures, of different sizes."""
    for c in range(5):
        (tmp_path / "data" / f"c{c}" / "deeper").mkdir(parents=True)
        for i, name in enumerate(("b.png", "a.png", "deeper/c.png")):
            Image.new("RGB", (5 + c, 4 + i), (c, i, 200)).save(tmp_path / "data" / f"c{c}" / name)
        (tmp_path / "data" / f"c{c}" / "notes.txt").write_text("no picture")
    return tmp_path / "data"


def make(folder, split="train", **options):
    return ImageFolder(split, 2, 0, data_dir=str(folder), **{"way": 1, "queries": 2, "size": 6, **options})


def test_classes_and_pictures_in_the_order_of_their_names(folder):
    bank = make(folder, class_split=(5, 0, 0)).bank
    assert bank.names == tuple(f"c{c}" for c in range(5)) and bank.images.shape == (15, 6, 6, 3)
    assert [bank.of("c3")[i, 0, 0].tolist() for i in range(3)] == [[3, 1, 200], [3, 0, 200], [3, 2, 200]]


def test_a_csv_is_the_same(folder):
    table = folder.parent / "table.csv"
    rows = [f"data/{p.relative_to(folder)},{p.relative_to(folder).parts[0]}" for p in folder.rglob("*.png")]
    table.write_text("\n".join(["filename,label", *rows]))
    a, b = (make(path, class_split=(5, 0, 0)).bank for path in (table, folder))
    assert a.names == b.names
    np.testing.assert_array_equal(a.images, b.images)


def test_cached_until_a_file_changes(folder, monkeypatch):
    built, load = [], image_folder.load
    monkeypatch.setattr(image_folder, "load", lambda *a: built.append(1) or load(*a))
    for _ in range(2):
        make(folder)
    assert len(built) == 1
    Image.new("RGB", (9, 9), "red").save(folder / "c0" / "a.png")
    assert len(make(folder, class_split=(5, 0, 0)).bank.images) == 15 and len(built) == 2
    os.utime(folder / "c0" / "a.png", (5, 5))
    make(folder)
    (folder / "c0" / "a.png").unlink()
    for options in ({}, {"channels": 1}, {"size": 5}):
        make(folder, queries=1, duplicates="keep", **options)
    assert len(built) == 6


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def clear():
    image = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    image.paste((10, 20, 30, 255), (0, 0, 4, 2))
    return image


def palette():
    image = Image.new("P", (4, 4), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    return image


@pytest.mark.parametrize(
    ("data", "colour"),
    [
        (encoded(Image.new("L", (4, 4), 77), "PNG"), (77, 77, 77)),
        (encoded(Image.new("1", (4, 4), 1), "PNG"), (255, 255, 255)),
        (encoded(palette(), "PNG"), (10, 20, 30)),
        (encoded(palette(), "GIF"), (10, 20, 30)),
        (encoded(clear(), "PNG"), (10, 20, 30)),
        (encoded(Image.new("LA", (4, 4), (5, 255)), "PNG"), (5, 5, 5)),
        (encoded(Image.fromarray(np.full((4, 4), 65535 * 3 // 5, "uint16")), "PNG"), (153, 153, 153)),
        (encoded(Image.fromarray(np.full((4, 4), 257 * 9, "int32")), "TIFF"), (9, 9, 9)),
        (encoded(Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "TIFF"), (255, 0, 0)),
        (encoded(Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "JPEG"), (255, 0, 0)),
    ],
    ids=["grey", "bits", "palette", "gif", "transparent", "grey with alpha", "16 bit", "32 bit", "CMYK", "CMYK JPEG"],
)
def test_modes(data, colour):
    pixels = decode(data, 4, 3, "x")
    assert pixels.shape == (4, 4, 3) and pixels.dtype == "uint8"
    np.testing.assert_allclose(pixels[0, 0].astype(int), colour, atol=2)
    assert decode(data, 4, 1, "x").shape == (4, 4, 1)


def test_what_is_transparent_is_white():
    pixels = decode(encoded(clear(), "PNG"), 4, 3, "x")
    assert np.all(pixels[:2] == (10, 20, 30)) and np.all(pixels[2:] == 255)
    image = palette()
    assert np.all(decode(encoded(image, "PNG", transparency=1), 4, 3, "x") == 255)


def test_photographs_are_turned_upright():
    image = Image.new("RGB", (4, 4), "black")
    image.paste("white", (0, 0, 4, 2))
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    assert decode(encoded(image, "PNG", exif=exif), 4, 1, "x")[..., 0].mean(1).tolist() == [0, 0, 255, 255]


def test_resizing_keeps_the_whole_picture():
    image = Image.new("L", (40, 20), 0)
    image.paste(255, (20, 0, 40, 20))
    assert decode(encoded(image, "PNG"), 4, 1, "x")[..., 0].mean(0)[[0, 3]].round().tolist() == [0, 255]


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html>", "x.png: cannot be decoded: it is not a picture. Received: 6 bytes."),
        (encoded(Image.effect_noise((60, 60), 50), "JPEG")[:700], "x.png: cannot be decoded: .*truncated.* Received: 700 bytes."),
        (encoded(Image.effect_noise((60, 60), 50), "PNG")[:700], "x.png: cannot be decoded: .* Received: 700 bytes."),
        (encoded(Image.new("F", (4, 4)), "TIFF"), "floating-point"),
    ],
)
def test_what_cannot_be_decoded_is_one_line(data, message):
    with pytest.raises(DataError, match=message) as error:
        decode(data, 4, 3, "x.png")
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("s.yaml", "train: [c0, c1, c2]\nval: [c3]\ntest: [c4]\n"),
        ("s.json", json.dumps(SPLIT)),
        ("s.csv", "split,class\n" + "".join(f"{s},{c}\n" for s, names in SPLIT.items() for c in names)),
    ],
)
def test_split_by_a_file(folder, name, text):
    (folder.parent / name).write_text(text)
    banks = {s: make(folder, s, split_file=str(folder.parent / name)).bank.names for s in ("train", "validation", "test")}
    assert banks == {"train": ("c0", "c1", "c2"), "validation": ("c3",), "test": ("c4",)}


def test_the_names_in_a_split_file_are_text(tmp_path):
    (tmp_path / "s.yaml").write_text("train: [no, yes, 001, 010]\nval: ['8', 12:30]\ntest: [~, 1e3, 2024-01-01]\n", encoding="utf-8")
    assert from_file(tmp_path / "s.yaml") == {
        "train": ["no", "yes", "001", "010"], "validation": ["8", "12:30"], "test": ["~", "1e3", "2024-01-01"],
    }  # fmt: skip


@pytest.mark.badinput
def test_a_class_in_training_and_test_is_an_error_that_names_it(folder):
    file = folder.parent / "s.yaml"
    file.write_text("{train: [c0, c1], test: [c2, c1]}")
    with pytest.raises(DataError, match="Class 'c1' is in two splits, train and test"):
        make(folder, split_file=str(file))


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[c0]", "must map train, validation, test to lists of classes. Received:"),
        ("{train: [a], dev: [b]}", "splits are called train, validation, test. Received: dev."),
        ("{train: [", "not a text file of its kind"),
        ("{train: [[a]]}", "must map train, validation, test to lists of classes. Received:"),
        ("[" * 5000, "not a text file of its kind"),
        ("{train: [c9]}", "the first is 'c9'"),
    ],
)
def test_wrong_split_files_are_one_line(folder, text, message):
    (folder.parent / "s.yaml").write_text(text)
    with pytest.raises(DataError, match=message) as error:
        make(folder, split_file=str(folder.parent / "s.yaml"))
    assert "\n" not in str(error.value)


@pytest.mark.badinput
def test_a_split_file_that_is_missing_or_without_columns_is_named(tmp_path):
    with pytest.raises(DataError, match="Received: split_file=.*none.yaml"):
        from_file(tmp_path / "none.yaml")
    (tmp_path / "s.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match="the first line must be split,class"):
        from_file(tmp_path / "s.csv")


def test_split_by_seed_is_disjoint_and_a_function_of_seed_and_names():
    names = [f"c{i}" for i in range(100)]
    split = by_seed(names, (0.64, 0.16, 0.2), 0)
    assert [len(split[s]) for s in ("train", "validation", "test")] == [64, 16, 20] and sorted(sum(split.values(), [])) == sorted(names)
    assert by_seed(names[::-1], (64.0, 16.0, 20.0), 0) == split != by_seed(names, (0.64, 0.16, 0.2), 1)
    assert [len(v) for v in by_seed(names, (10.0, 0.0, 5.0), 0).values()] == [10, 0, 5]
    for sizes in ((0.5, 0.1, 0.1), (90.0, 10.0, 1.0), (2.0, 0.5, 1.0)):
        with pytest.raises(
            ConfigurationError, match="class_split must be three fractions that sum to 1, or three numbers of classes out of 100"
        ):
            by_seed(names, sizes, 0)


def test_without_validation_classes_validation_is_on_training_classes(folder):
    assert make(folder, "validation", class_split=(4, 0, 1)).bank.names == make(folder, class_split=(4, 0, 1)).bank.names


@pytest.mark.badinput
def test_wrong_folders_and_options_are_one_line(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "bare" / "c0").mkdir(parents=True)
    (tmp_path / "a.csv").write_text("filename,label\ndata/c0/a.png,c0\ndata/none.png,c0\n")
    (tmp_path / "b.csv").write_text("file,class\n")
    for path, message in (
        ("nowhere", "must be a folder of class folders, or a CSV file .* Received: .*nowhere"),
        ("empty", "empty must hold a folder of pictures for each class"),
        ("bare", "bare/c0 must hold pictures"),
        ("a.csv", r"a.csv, line 3: needs a file that is there, and a label. Received: none.png,c0"),
        ("b.csv", "must have the columns filename and label. Received: 'file,class'"),
    ):
        with pytest.raises(DataError, match=message):
            make(tmp_path / path)
    with pytest.raises(ConfigurationError, match="ImageFolder must be one of standard, original_code. Received: protocol=paper."):
        make(folder, protocol="paper")
    (folder / "c2" / "a.png").write_bytes(b"cut")
    with pytest.raises(ConfigurationError, match="channels must be 1 or 3. Received: channels=2."):
        make(folder, channels=2)


@pytest.mark.badinput
def test_too_few_pictures_are_named(folder):
    with pytest.raises(DataError, match="Class 'c.' has 3 images, but shot \\+ queries needs 4: set task.shot and task.queries"):
        make(folder, queries=3)


def test_too_few_classes_name_the_options(folder):
    with pytest.raises(DataError, match="way=3 needs 3 classes, but there are 2: lower task.way") as error:
        make(folder, "test", way=3, class_split=(2, 1, 2))
    assert str(error.value).endswith(". The data has 5 classes, divided into splits by task.class_split=[2, 1, 2].")
    (folder / "c5").mkdir()
    Image.new("RGB", (5, 5), "red").save(folder / "c5" / "a.png")
    with pytest.raises(DataError, match="; task.way=2 task.class_split=\\[2, 2, 2\\] would do.$"):
        make(folder, "test", way=3, class_split=(4, 1, 1))


def support_among_queries(tasks, batches=20):
    """The part of tasks that have a query with the pixels of one of their support images."""
    leaks = []
    for index in range(batches):
        task = tasks.sample(index)
        support, query = (np.asarray(x).reshape(*x.shape[:2], -1) for x in (task.support_x, task.query_x))
        leaks += [bool((s[:, None] == q[None]).all(-1).any()) for s, q in zip(support, query, strict=True)]
    return np.mean(leaks)


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


@pytest.mark.parametrize("how", ["copy", "other format", "link"])
def test_a_picture_counts_once_in_its_class(folder, how, caplog):
    first, again = folder / "c1" / "a.png", folder / "c1" / "z.png"
    if how == "link":
        again.symlink_to(first)
    elif how == "copy":
        again.write_bytes(first.read_bytes())
    else:
        Image.open(first).save(folder / "c1" / "z.bmp")
    for _ in range(2):  # decoded, and from the cache
        caplog.clear()
        tasks = make(folder, class_split=(5, 0, 0))
        note = "1 of 16 pictures have the pixels of another of their class and count once, the first in 'c1'"
        assert tasks.notes == (note,) and caplog.messages == [
            f"{folder}: {note}.",
            f"{folder}: left out, as no pictures in a class's folder: .txt (5).",
        ]
        assert tasks.bank.count.tolist() == [3] * 5 and support_among_queries(tasks) == 0
    assert make(folder, "test", class_split=(4, 0, 1)).notes == (note,) and len(caplog.messages) == 2


def test_a_row_of_a_csv_twice_counts_once(folder):
    rows = [f"data/c{c}/{name},c{c}" for c in range(5) for name in ("a.png", "b.png", "a.png")]
    (folder.parent / "t.csv").write_text("\n".join(["filename,label", *rows]))
    tasks = make(folder.parent / "t.csv", class_split=(5, 0, 0), queries=1)
    assert tasks.bank.count.tolist() == [2] * 5 and support_among_queries(tasks) == 0
    assert tasks.notes[0].startswith("5 of 15 pictures")


def test_a_picture_of_two_splits_is_refused_or_noted(folder, caplog):
    (folder / "c4" / "x.png").write_bytes((folder / "c0" / "a.png").read_bytes())
    (folder / "c1" / "x.png").write_bytes((folder / "c0" / "b.png").read_bytes())
    file = folder.parent / "s.yaml"
    file.write_text(json.dumps(SPLIT))
    expected = (
        "2 pictures have the pixels of one of another class, 1 of them in another split; the first are in 'c0' (train) and 'c1' (train)",
    )
    with pytest.raises(DataError, match="1 pictures are in two splits, .* set task.duplicates=keep, .* Received: .*") as error:
        make(folder, split_file=str(file))
    assert str(error.value).endswith(f"Received: {folder / 'c0' / 'a.png'} (train) and {folder / 'c4' / 'x.png'} (test).")
    kept = {"split_file": str(file), "duplicates": "keep"}
    assert make(folder, "test", **kept).notes == expected and not caplog.messages
    assert make(folder, "train", **kept).notes == expected and len(caplog.messages) == 2
    (folder / "c4" / "x.png").unlink()  # in two classes of one split: no test sees what was trained on
    assert make(folder, "test", split_file=str(file)).notes[0].startswith("1 pictures have the pixels of one of another class, 0 of them")


def test_recorded_classes_take_the_place_of_a_split(folder):
    assert make(folder, "test", classes=("c3", "c1")).bank.names == ("c3", "c1")
    with pytest.raises(DataError, match="must hold the 2 test classes that the run recorded; .* 1 of them are missing, the first 'c9'"):
        make(folder, "test", classes=("c3", "c9"))


def test_all_damaged_pictures_are_listed_at_once_or_left_out(folder, caplog):
    (folder / "c2" / "a.png").write_bytes(b"cut")
    (folder / "c4" / "b.png").write_bytes(b"")
    for _ in range(2):  # decoded, and from the cache
        with pytest.raises(DataError, match="2 of 15 pictures cannot be decoded; .* set task.skip_damaged=true") as error:
            make(folder, queries=1)
        bad = "c2/a.png (it is not a picture, 3 bytes)", "c4/b.png (it is not a picture, 0 bytes)"
        assert str(error.value).endswith(f" Received: {bad[0]}; {bad[1]}.")
    tasks = make(folder, queries=1, skip_damaged=True, class_split=(5, 0, 0))
    assert tasks.bank.count.tolist() == [3, 3, 2, 3, 2] and tasks.skipped == bad
    note = f"2 of 15 pictures cannot be decoded and are left out, the first {bad[0]}"
    assert tasks.notes == (note,) and f"{folder}: {note}." in caplog.messages
    assert make(folder, "test", queries=1, skip_damaged=True, classes=("c4", "c1")).skipped == bad[1:]
    for name in ("a.png", "b.png", "deeper/c.png"):
        (folder / "c2" / name).write_bytes(b"cut")
    with pytest.raises(DataError, match="no picture of class 'c2' can be decoded"):
        make(folder, skip_damaged=True)


def test_a_class_without_light_is_noted(folder):
    for seed, file in enumerate((folder / "c3").rglob("*.png")):
        Image.fromarray(np.random.default_rng(seed).integers(0, 4096, (9, 9), "uint16")).save(file)  # 12 bits in 16
    notes = make(folder, queries=1, class_split=(5, 0, 0)).notes
    assert any(note.startswith("no picture of 1 classes has a pixel above 10 % of white, the first 'c3'") for note in notes)


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
