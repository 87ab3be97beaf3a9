import unicodedata
from collections import Counter

import numpy as np
import pytest

from stochlwta_tf.tasks import TASKS, Glyphs, glyphs
from stochlwta_tf.tasks.glyphs import DRAWINGS, SCRIPTS, characters, draw


@pytest.fixture(scope="module")
def chosen():
    return characters()


@pytest.fixture(scope="module", params=[4, pytest.param(DRAWINGS, marks=pytest.mark.slow)])
def splits(request, chosen, tmp_path_factory):
    """All classes, with the first so many of their drawings."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOCHLWTA_CACHE", str(tmp_path_factory.mktemp("cache")))
        patch.setattr(glyphs, "characters", lambda: chosen)
        patch.setattr(glyphs, "DRAWINGS", request.param)
        yield {split: Glyphs(split, batch=2, seed=0, queries=3) for split in SCRIPTS}


def test_counts(splits):
    sizes = {split: len(tasks.bank) for split, tasks in splits.items()}
    assert sum(sizes.values()) >= 500 and sizes["train"] >= 300 and sizes["validation"] >= 50 and sizes["test"] >= 100
    for tasks in splits.values():
        assert set(tasks.bank.count) == {glyphs.DRAWINGS} and tasks.bank.images.shape[1:] == tasks.input_shape == (28, 28, 1)


def test_scripts_are_disjoint_and_all_present(splits):
    scripts = {split: Counter(name.split()[0] for name in tasks.bank.names) for split, tasks in splits.items()}
    assert {split: set(found) for split, found in scripts.items()} == {split: set(names) for split, names in SCRIPTS.items()}
    assert len(set().union(*SCRIPTS.values())) == sum(map(len, SCRIPTS.values()))


def test_white_ink_on_black_that_stays_inside(splits):
    for tasks in splits.values():
        images = tasks.bank.images[..., 0].astype(float) / 255
        assert images.reshape(-1, 784).max(1).min() > 0.3 and 0.05 < images.mean() < 0.3
        border = np.concatenate([images[:, 0], images[:, -1], images[:, :, 0], images[:, :, -1]], axis=1)
        assert (border.max(1) > 0.5).mean() < 0.01


def test_drawings_of_a_class_differ_and_no_image_is_in_two_classes(splits):
    images = np.concatenate([tasks.bank.images.reshape(-1, 784) for tasks in splits.values()])
    assert len(np.unique(images, axis=0)) > 0.999 * len(images)
    classes = images.reshape(-1, glyphs.DRAWINGS, 784)
    assert all(len(np.unique(drawings, axis=0)) == glyphs.DRAWINGS for drawings in classes)


def test_look_alikes_are_one_class(chosen):
    names = {unicodedata.name(c) for c in chosen}
    assert "LATIN CAPITAL LETTER A" in names
    assert not names & {"GREEK CAPITAL LETTER ALPHA", "CYRILLIC CAPITAL LETTER A", "LATIN SMALL LETTER O", "CYRILLIC SMALL LETTER ES"}


def test_classes_are_closer_to_themselves_than_to_others(splits):
    """A 20-way 1-shot nearest neighbour on pixels: far above chance (5 %), far from solved."""
    task = Glyphs("test", batch=60, seed=0, way=20, queries=3).sample(0)
    support, query = (np.asarray(x).reshape(60, -1, 784) for x in (task.support_x, task.query_x))
    nearest = np.argmin((support**2).sum(-1)[:, None] - 2 * query @ support.transpose(0, 2, 1), axis=-1)
    assert 0.2 < np.mean(nearest == task.query_y) < 0.6


def test_the_same_bytes_again(splits, chosen):
    c, fonts = next(iter(chosen.items()))
    again = np.stack([draw(c, fonts, i) for i in range(glyphs.DRAWINGS)])
    np.testing.assert_array_equal(again, splits["train"].bank.of(unicodedata.name(c))[..., 0])


def test_options_and_registry(splits):
    assert TASKS["glyphs"] is Glyphs
    task = Glyphs("train", batch=3, seed=0, way=4, shot=2, train_queries=0).sample(0)
    assert task.support_x.shape == (3, 8, 28, 28, 1) and task.query_x.shape == (3, 0, 28, 28, 1)
