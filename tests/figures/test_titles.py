"""Titles of runs and of classes of validation."""

import pytest

from stochlwta_tf.figures import titles


@pytest.mark.parametrize(
    ("task", "whose"),
    [
        ({"name": "omniglot", "validation_classes": 0, "protocol": "standard"}, "training classes"),
        ({"name": "omniglot", "validation_classes": 100, "protocol": "standard"}, "held-out classes"),
        ({"name": "miniimagenet", "protocol": "standard"}, "held-out classes"),
        ({"name": "miniimagenet", "protocol": "paper"}, "training classes"),
    ],
)
def test_classes_of_validation_follow_from_the_task(task, whose):
    assert titles.validated(task) == whose


def test_a_run_is_titled_in_words():
    result = {"name": "sinusoid_challenging_platipus", "learner": {"name": "platipus"}}
    assert titles.run({**result, "task": {"name": "sinusoid", "setting": "challenging"}}) == "PLATIPUS, challenging sinusoids"
    result = {"name": "x", "learner": {"name": "stochlwta"}, "task": {"name": "miniimagenet", "way": 5, "shot": 1}}
    assert titles.run(result) == "StochLWTA-ML, mini-ImageNet 5-way 1-shot"
