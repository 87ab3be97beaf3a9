"""10,000 tasks of every image data set: its own splits and options, with few small images in which class and number are written."""

from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from stochlwta_tf.tasks import TASKS, ClassBank, cifar100, glyphs, image_folder, miniimagenet, omniglot
from stochlwta_tf.tasks.class_lists import class_list
from stochlwta_tf.tasks.picture_files import PictureFiles

COUNT = 9
NAMES = {
    "omniglot": [f"{part}/{c}" for part in ("background", "evaluation") for c in range(7)],
    "glyphs": [f"{script} {c}" for script in ("LATIN", "LAO", "GREEK") for c in range(7)],
    "cifar100": [name for names in class_list("cifar_fs").values() for name in names],
    "miniimagenet": [f"{split}/{wnid}" for split, wnids in class_list("miniimagenet").items() for wnid in wnids],
    "image_folder": [f"class {c}" for c in range(40)],
}
MODULES = {"omniglot": omniglot, "glyphs": glyphs, "cifar100": cifar100, "miniimagenet": miniimagenet, "image_folder": image_folder}
OPTIONS = {"image_folder": {"data_dir": "."}, "omniglot": {"validation_classes": 0}}


@pytest.fixture(params=NAMES)
def name(request, monkeypatch):
    names = NAMES[request.param]
    numbers = np.arange(len(names) * COUNT)
    images = np.stack([numbers // COUNT, numbers % COUNT], axis=-1).astype("uint8")[:, None, None]
    bank = ClassBank(images, numbers[::COUNT], np.full(len(names), COUNT), names)
    monkeypatch.setattr(MODULES[request.param], "cached_bank", lambda *_: bank)
    monkeypatch.setattr(miniimagenet.layouts, "find", lambda _: type("Layout", (), {"state": staticmethod(list)}))
    monkeypatch.setattr(image_folder, "listed", lambda _: PictureFiles([(name, Path(__file__)) for name in names for _ in range(COUNT)]))
    return request.param


@pytest.mark.parametrize("split", ["train", "test"])
def test_ten_thousand_tasks(name, split):
    options = OPTIONS.get(name, {})
    tasks = TASKS[name](split, batch=5000, seed=1, way=3, shot=2, queries=2, **options)
    batches = [tasks.sample(i) for i in range(2)]
    support, query = (
        np.concatenate([np.rint(np.asarray(getattr(b, field))[:, :, 0, 0] * 255).astype(int).reshape(-1, 3, 2, 2) for b in batches])
        for field in ("support_x", "query_x")
    )
    pixels = np.concatenate([support, query], axis=2)  # [task, label, image, (class, number)]
    classes, numbers = pixels[:, :, 0, 0], pixels[..., 1]
    assert len(pixels) == 10000 and np.all(pixels[..., 0] == classes[..., None])
    assert np.all(np.diff(np.sort(classes)) > 0)  # distinct
    assert np.all(np.diff(np.sort(numbers)) > 0)  # no image twice, so support and query are disjoint
    allowed, places = np.unique(classes, return_inverse=True)
    assert {NAMES[name][c] for c in allowed} == set(tasks.bank.names)
    assert np.all(np.asarray(batches[0].support_y) == [0, 0, 1, 1, 2, 2]) and np.all(np.asarray(batches[0].query_y) == [0, 0, 1, 1, 2, 2])
    places = places.reshape(classes.shape)
    for label in range(3):  # every class gets every label, and gives every image, equally often
        assert stats.chisquare(np.bincount(places[:, label])).pvalue > 1e-4
        for image in range(4):
            counts = np.bincount(places[:, label] * COUNT + numbers[:, label, image], minlength=len(allowed) * COUNT)
            assert stats.chisquare(counts).pvalue > 1e-4


def test_splits_do_not_share_classes(name):
    options = OPTIONS.get(name, {})
    train, test = (set(TASKS[name](split, batch=1, seed=0, way=3, queries=2, **options).bank.names) for split in ("train", "test"))
    assert train and test and not train & test


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_same_seed_is_the_same_tasks_whatever_the_batch(name, split):
    options = OPTIONS.get(name, {})
    tasks = {
        n: TASKS[name](split, batch=n, seed=3, way=3, shot=2, queries=2, rotations=True, shift=1, flip=True, **options)
        for n in (1, 4, 6, 12)
    }
    fields = {n: [np.concatenate(column) for column in zip(*(t.sample(i) for i in range(12 // n)), strict=True)] for n, t in tasks.items()}
    for found in fields.values():
        for array, expected in zip(found, fields[12], strict=True):
            np.testing.assert_array_equal(array, expected)
