import hashlib
import json
import weakref

import numpy as np
import pytest

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks import ClassBank

COUNT = (3, 5, 4)
NAMES = ("a", "b", "c")


def make(count=COUNT, names=NAMES, size=(2, 2, 1)):
    images = np.arange(sum(count) * np.prod(size), dtype="uint8").reshape(sum(count), *size)
    return ClassBank(images, np.cumsum(count) - count, count, names)


def test_from_labels_sorts_by_class_and_keeps_the_order_within():
    images = np.arange(6, dtype="uint8").reshape(6, 1, 1, 1)
    bank = ClassBank.from_labels(images, [1, 0, 1, 1, 0, 1], ["x", "y"])
    assert bank.of("x").ravel().tolist() == [1, 4] and bank.of("y").ravel().tolist() == [0, 2, 3, 5]


def test_subset_keeps_images_and_shares_memory():
    bank = make()
    part = bank.subset(["c", "b"])
    assert part.names == ("c", "b") and len(part.images) == 9 and np.shares_memory(part.images, bank.images)
    for name in part.names:
        np.testing.assert_array_equal(part.of(name), bank.of(name))


def test_split_is_disjoint():
    assert {k: b.names for k, b in make().split({"train": ["a", "c"], "test": ["b"]}).items()} == {"train": ("a", "c"), "test": ("b",)}
    with pytest.raises(DataError, match="'b' is in two splits, train and test"):
        make().split({"train": ["a", "b"], "test": ["b"]})


def test_rotated_classes_are_numpys_rotations():
    bank, turned = make(), make().rotated()
    assert len(turned) == 12 and turned.count.tolist() == list(COUNT) * 4
    np.testing.assert_array_equal(turned.of("b 270°")[4], np.rot90(bank.of("b")[4], 3))
    with pytest.raises(DataError, match="square"):
        make(size=(2, 3, 1)).rotated()


@pytest.mark.badinput
@pytest.mark.parametrize(
    "arguments, message",
    [
        ((np.zeros((2, 2, 2, 1)), [0], [2], ["a"]), "uint8"),
        ((np.zeros((2, 2, 2), "uint8"), [0], [2], ["a"]), r"\[2, 2, 2\]"),
        ((np.zeros((2, 2, 2, 1), "uint8"), [0], [2], ["a", "b"]), "2 names"),
        ((np.zeros((2, 2, 2, 1), "uint8"), [], [], []), "at least 1 class"),
        ((np.zeros((2, 2, 2, 1), "uint8"), [0, 1], [1, 1], ["a", "a"]), "'a' twice"),
        ((np.zeros((2, 2, 2, 1), "uint8"), [0, 2], [2, 0], ["a", "b"]), "'b'.*0 images"),
        ((np.zeros((2, 2, 2, 1), "uint8"), [0, 1], [1, 2], ["a", "b"]), "'b'.*2 images from number 1"),
    ],
)
def test_wrong_arrays_are_named_in_one_line(arguments, message):
    with pytest.raises(DataError, match=message) as error:
        ClassBank(*arguments)
    assert "\n" not in str(error.value)


@pytest.mark.badinput
def test_unknown_class_and_wrong_labels_are_named():
    with pytest.raises(DataError, match="'z'"):
        make().subset(["a", "z"])
    with pytest.raises(DataError, match="label from 0 to 0"):
        ClassBank.from_labels(np.zeros((2, 2, 2, 1), "uint8"), [0, 1], ["a"])
    with pytest.raises(DataError, match="at least 1 class"):
        make().subset([])


@pytest.mark.badinput
def test_check_names_the_class_that_is_too_small():
    make().check(3, 3)
    with pytest.raises(DataError, match="way=4 needs 4 classes, but there are 3"):
        make().check(4, 1)
    with pytest.raises(DataError, match="Class 'a' has too few images for shot \\+ queries: .* Received: 3 for 4"):
        make().check(2, 4)


def test_banks_taken_from_one_hold_their_images_once():
    bank = make()
    assert (
        bank.subset(["b", "c"]).tensor is bank.split({"x": ["c", "b"]})["x"].tensor
        and bank.parts(bank.first, [1, 1, 1]).tensor is bank.tensor
    )
    np.testing.assert_array_equal(bank.subset(["b"]).subset(["b"]).tensor, bank.of("b"))
    assert bank.subset(["b"]).tensor is not make().subset(["b"]).tensor


def test_parts_are_other_images_of_the_same_classes():
    bank = make()
    rest = bank.parts(bank.first + 1, bank.count - 1)
    assert rest.names == bank.names
    for name in NAMES:
        np.testing.assert_array_equal(rest.of(name), bank.of(name)[1:])


def test_digests_and_fingerprint_are_those_of_the_pixels():
    bank = make()
    expected = [hashlib.blake2b(image.tobytes(), digest_size=16).digest() for image in bank.images]
    assert [row.tobytes() for row in bank.digests] == expected
    assert [row.tobytes() for row in bank.subset(["c"]).digests] == expected[8:]
    total = hashlib.sha256(json.dumps([["c", "a"], [4, 3], [2, 2, 1]]).encode() + b"".join(expected[8:] + expected[:3]))
    assert bank.subset(["c", "a"]).fingerprint() == total.hexdigest()
    other = make()
    other.images[-1, 1, 1] += 1
    prints = [
        b.fingerprint() for b in (bank, other, make(names=("a", "c", "b")), bank.subset(["b", "a", "c"]), bank.parts(bank.first, [3, 5, 3]))
    ]
    assert len(set(prints)) == 5
    with pytest.raises(DataError, match=r"digests of 12 images must be uint8 \[12, 16\]. Received: uint8 \[3, 16\]"):
        ClassBank(bank.images, bank.first, bank.count, NAMES, bank.digests[:3])


def test_memory_is_freed_at_once():
    images = make().images
    alive = weakref.ref(ClassBank(images, [0], [12], ["a"]))
    assert alive() is None
