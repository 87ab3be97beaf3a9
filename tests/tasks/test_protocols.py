"""Three protocols: their classes, their tasks, and that they are never mixed."""

import numpy as np
import pytest

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.tasks import TASKS, ImageTasks
from stochlwta_tf.tasks.protocols import check_disjoint
from tests.helpers.bars import Bars, bank


def test_a_class_in_training_and_test_is_an_error_in_standard_alone():
    banks = {"train": bank(range(6)), "test": bank(range(5, 8))}
    with pytest.raises(ConfigurationError, match=r"but 1 are in both. Received: class 'row 5'\.$"):
        ImageTasks(banks, "test", 2, 0, queries=2)
    ImageTasks(banks, "test", 2, 0, queries=2, way=2, protocol="original_code")


def test_a_class_that_was_trained_on_turned_was_trained_on():
    names = bank(range(3)).names
    with pytest.raises(ConfigurationError, match=r"but 3 are in both. Received: class 'row 0'\.$"):
        check_disjoint([f"{name} 90°" for name in names], names)


def test_a_data_set_has_its_own_protocols():
    with pytest.raises(ConfigurationError, match=r"protocol of Glyphs must be one of standard, original_code. Received: protocol=paper\.$"):
        TASKS["glyphs"]("test", 2, 0, protocol="paper")


def test_the_original_code_tests_on_one_query_a_class_that_may_be_a_support_image():
    tasks = Bars("test", 2000, 0, way=3, shot=2, queries=9, protocol="original_code")
    batch = tasks.sample(0)
    assert batch.query_x.shape == (2000, 3, 12, 12, 1)
    query, support = (np.reshape(x, (2000, 3, -1, 144)) for x in (batch.query_x, batch.support_x))
    same = np.any(np.all(query == support, -1), -1)
    assert same.mean() == pytest.approx(1 - (5 / 6) ** 2, abs=0.02)
    classes = np.argmax(support[:, :, 0].reshape(2000, 3, 12, 12).sum(-1), -1)
    distinct = np.mean([len(set(row)) == 3 for row in classes])
    assert distinct == pytest.approx(5 / 6 * 4 / 6, abs=0.04)
