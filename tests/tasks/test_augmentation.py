import numpy as np
import pytest

from stochlwta_tf import random
from stochlwta_tf.tasks import ImageTasks
from stochlwta_tf.tasks.augmentation import augmented
from tests.helpers.bars import bank


def test_an_image_is_moved_and_mirrored_as_numpy_does_each_case_as_often():
    image = np.arange(5 * 6, dtype="uint8").reshape(5, 6, 1)
    cases = {}
    for down in (-1, 0, 1):
        for right in (-1, 0, 1):
            padded = np.pad(image, ((1, 1), (1, 1), (0, 0)), "edge")
            moved = padded[1 - down : 6 - down, 1 - right : 7 - right]
            cases[moved.tobytes()] = (down, right, False)
            cases[moved[:, ::-1].tobytes()] = (down, right, True)
    noise = random.uniform(random.key_from_seed(0), (9000, 3))
    found = augmented(noise, np.tile(image[None], (9000, 1, 1, 1)), flip=True, shift=1).numpy()
    count = dict.fromkeys(cases.values(), 0)
    for each in found:
        count[cases[each.tobytes()]] += 1
    assert len(count) == 18 and min(count.values()) > 400 and max(count.values()) < 600  # 500 each, 4.5 sigma


def test_training_images_alone_are_changed_and_nothing_where_it_is_off():
    banks = {"train": bank(range(6)), "test": bank(range(6, 12))}
    options = {"way": 3, "shot": 2, "queries": 2}
    for split, changed in (("train", True), ("test", False)):
        plain, other = (ImageTasks(banks, split, 4, 0, **options, shift=shift).sample(0) for shift in (0, 2))
        assert np.any(plain.support_x != other.support_x) == changed
        assert np.any(plain.query_x != other.query_x) == changed
        np.testing.assert_array_equal(plain.support_y, other.support_y)


def test_support_and_query_are_changed_apart():
    banks = {"train": bank(range(6))}
    batch = ImageTasks(banks, "train", 50, 0, way=2, shot=1, queries=1, shift=2, protocol="original_code").sample(0)
    rows = [np.argmax(x.numpy()[..., 0].sum(3), -1) for x in (batch.support_x, batch.query_x)]
    assert np.mean(rows[0] == rows[1]) == pytest.approx(0.2, abs=0.15)
