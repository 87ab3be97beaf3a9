"""One's own images: class splits, duplicates, damaged pictures, and what is said of wrong folders."""

import json
import os

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import image_folder
from stochlwta_tf.tasks.class_split import by_seed, from_file
from tests.helpers.picture_folder import make

SPLIT = {"train": ["c0", "c1", "c2"], "val": ["c3"], "test": ["c4"]}
pytestmark = pytest.mark.usefixtures("cache")


def test_classes_and_pictures_in_the_order_of_their_names(folder):
    bank = make(folder, class_split=(5, 0, 0)).bank
    assert bank.names == tuple(f"c{c}" for c in range(5)) and bank.images.shape == (15, 6, 6, 3)
    assert [bank.of("c3")[i, 0, 0].tolist() for i in range(3)] == [[3, 1, 200], [3, 0, 200], [3, 2, 200]]


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
    message = "Class 'c.' has too few images for shot \\+ queries: set task.shot and task.queries .* Received: 3 for 4"
    with pytest.raises(DataError, match=message):
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
        note = "pictures with the pixels of another of their class, which count once: 1 of 16, the first in 'c1'"
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
    assert tasks.notes[0].startswith("pictures with the pixels of another of their class, which count once: 5 of 15")


def test_a_picture_of_two_splits_is_refused_or_noted(folder, caplog):
    (folder / "c4" / "x.png").write_bytes((folder / "c0" / "a.png").read_bytes())
    (folder / "c1" / "x.png").write_bytes((folder / "c0" / "b.png").read_bytes())
    file = folder.parent / "s.yaml"
    file.write_text(json.dumps(SPLIT))
    expected = (
        "pictures with the pixels of one of another class: 2, of them in another split: 1; the first are in 'c0' (train) and 'c1' (train)",
    )
    with pytest.raises(DataError, match="pictures are in two splits, .* set task.duplicates=keep, .* Received: 1, .*") as error:
        make(folder, split_file=str(file))
    assert str(error.value).endswith(f"Received: 1, {folder / 'c0' / 'a.png'} (train) and {folder / 'c4' / 'x.png'} (test).")
    kept = {"split_file": str(file), "duplicates": "keep"}
    assert make(folder, "test", **kept).notes == expected and not caplog.messages
    assert make(folder, "train", **kept).notes == expected and len(caplog.messages) == 2
    (folder / "c4" / "x.png").unlink()  # in two classes of one split: no test sees what was trained on
    (note,) = make(folder, "test", split_file=str(file)).notes
    assert note.startswith("pictures with the pixels of one of another class: 1, of them in another split: 0; ")


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
    assert any(note.startswith("classes without a pixel above 10 % of white: 1, the first 'c3'") for note in notes)
