"""Wrong arrays given to the library: a `ValueError` or `UserError` of one line."""

import numpy as np
import pytest

from stochlwta_tf import metrics, random
from stochlwta_tf.errors import UserError
from stochlwta_tf.learners import Reptile
from stochlwta_tf.tasks.class_bank import ClassBank
from tests.helpers.small_learners import WAY, point_mlp

pytestmark = pytest.mark.badinput
X, Y = np.zeros((4, 2), "float32"), np.array([0, 1, 2, 0])
IMAGES = np.zeros((4, 3, 3, 1), "uint8")
P, LABELS = np.full((2, 3, 4), 0.25, "float32"), np.zeros((2, 3), int)
DRAWS, TARGETS = np.zeros((2, 5, 3, 1), "float32"), np.zeros((2, 3, 1), "float32")


def line_of(function, *arguments, **options):
    with pytest.raises((ValueError, UserError)) as error:
        function(*arguments, **options)
    assert "\n" not in str(error.value) and "Received" in str(error.value)
    return str(error.value)


@pytest.fixture(scope="module")
def learner():
    return Reptile(point_mlp())


SUPPORT = {
    "nothing": (None, Y, "`support_x` must hold numbers"),
    "a number": (1.0, Y, "`support_x` must have the shape [examples, 2]"),
    "a word": ("four", Y, "`support_x` must hold numbers"),
    "lists of different lengths": ([[1, 2], [3]], Y, "`support_x` must be an array, or lists of one length. Received: list"),
    "complex numbers": (X.astype("complex64"), Y, "`support_x` must hold numbers. Received: dtype=complex64"),
    "dates": (X.astype("datetime64[s]"), Y, "`support_x` must hold numbers"),
    "bytes of pixels": (X.astype("uint8"), Y, "`support_x` must be scaled as in training"),
    "a dimension too many": (X[None], Y, "Received: shape=(1, 4, 2)"),
    "no labels": (X, None, "`support_y` must hold 4 labels, one for each support input"),
    "labels of different lengths": (X, [[0], [1, 2]], "`support_y` must be an array"),
    "one-hot labels": (X, np.eye(WAY)[Y], "`support_y` must hold 4 labels, one for each support input: names, or integers from 0 to 2"),
    "negative labels": (X, Y - 1, "values from -1 to 1"),
    "labels that are true or false": (X, Y > 0, "dtype=bool"),
    "labels in a column": (X, Y[:, None], "Received: shape=(4, 1)"),
    "a label too large for 32 bits": (X, Y + 2**40, "integers from 0 to 2"),
}


@pytest.mark.parametrize("case", SUPPORT)
def test_a_support_set(learner, case):
    x, y, message = SUPPORT[case]
    assert message in line_of(learner.adapt_to, x, y)


@pytest.mark.parametrize("seed", [None, "one", 1.5, [1], np.float32(2)], ids=repr)
def test_a_seed(learner, seed):
    assert "`seed` must be an integer. Received: seed=" in line_of(learner.adapt_to, X, Y, seed=seed)
    assert "`seed` must be an integer" in line_of(random.key_from_seed, seed)


BANKS = {
    "a list of images": ([IMAGES], [0], [4], ["a"], "needs an array of images"),
    "counts that are no whole numbers": (IMAGES, [0.0], [4.5], ["a"], "must be whole numbers"),
    "counts that are words": (IMAGES, ["a"], ["b"], ["a"], "must be whole numbers"),
    "a negative count": (IMAGES, [0], [-1], ["a"], "Received: -1 images from number 0."),
    "a negative start": (IMAGES, [-1], [1], ["a"], "Received: 1 images from number -1."),
    "a start beyond the end": (IMAGES, [9], [1], ["a"], "Class 'a' must lie within the 4 images."),
    "no images": (IMAGES[:0], [0], [1], ["a"], "Class 'a' must lie within the 0 images."),
    "floats": (IMAGES / 255, [0], [4], ["a"], "Images must be uint8"),
    "greyscale without channels": (IMAGES[..., 0], [0], [4], ["a"], "Received: uint8 [4, 3, 3]."),
}


@pytest.mark.parametrize("case", BANKS)
def test_a_class_bank(case):
    *arguments, message = BANKS[case]
    assert message in line_of(ClassBank, *arguments)


@pytest.mark.parametrize("labels", [[0.0] * 4, [[0]] * 4, ["a"] * 4, [0, 0, 0, -1], [0] * 3], ids=repr)
def test_labels_of_a_class_bank(labels):
    line_of(ClassBank.from_labels, IMAGES, labels, ["a"])


def test_a_class_that_is_not_there():
    assert "must be one of the 1 of the data. Received: 'b'." in line_of(ClassBank(IMAGES, [0], [4], ["a"]).of, "b")


CLASSES = [metrics.accuracy, metrics.categorical_nll, metrics.brier, metrics.calibration_error]
PREDICTED = {
    "fewer labels": (P, LABELS[:, :1]),
    "labels of one task": (P, LABELS[0]),
    "one-hot labels": (P, np.eye(4)[LABELS]),
    "labels that are floats": (P, LABELS * 1.0),
    "a label too large": (P, LABELS + 4),
    "a negative label": (P, LABELS - 1),
    "no tasks": (P[:0], LABELS[:0]),
    "one task without its axis": (P[0], LABELS[0]),
}


@pytest.mark.parametrize("case", PREDICTED)
@pytest.mark.parametrize("measure", CLASSES, ids=lambda f: f.__name__)
def test_measures_of_classes(measure, case):
    line_of(measure, *PREDICTED[case])


def test_an_interval_of_one_task():
    assert "needs 2 tasks or more. Received: 1" in line_of(metrics.calibration_error, P[:1], LABELS[:1])


NUMBERS = {
    "without draws": (DRAWS[:, 0], TARGETS),
    "fewer targets": (DRAWS, TARGETS[:, :1]),
    "targets without outputs": (DRAWS, TARGETS[..., 0]),
    "other tasks": (DRAWS, TARGETS[:1]),
    "nothing": (DRAWS[:0], TARGETS[:0]),
}


@pytest.mark.parametrize("case", NUMBERS)
@pytest.mark.parametrize("measure", [metrics.squared_error, metrics.mixture_nll, metrics.coverage], ids=lambda f: f.__name__)
def test_measures_of_numbers(measure, case):
    line_of(measure, *NUMBERS[case], *([] if measure is metrics.squared_error else [1.0]))


@pytest.mark.parametrize("noise_std", [0.0, -1.0, np.nan])
def test_a_noise_that_is_none(noise_std):
    assert "`noise_std` must be positive" in line_of(metrics.mixture_nll, DRAWS, TARGETS, noise_std)
