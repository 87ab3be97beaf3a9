"""`training.patience`: the rule by which a training ends; tests/training/test_best.py ends one by it."""

import pytest

from stochlwta_tf.objectives import Categorical, Gaussian
from stochlwta_tf.training.best import best_of
from stochlwta_tf.training.early_stopping import is_over


@pytest.mark.parametrize(
    ("scores", "patience", "accuracy", "error"),
    [
        ([0.5, 0.4, 0.3], 2, True, False),
        ([0.5, 0.4, 0.3], 3, False, False),
        ([0.3, 0.4, 0.5], 2, False, True),
        ([0.5, "", "nan", 0.5], 2, True, True),  # a tie is no improvement, nor is a validation without a number
        (["", ""], 1, False, False),
        ([], 1, False, False),
        ([0.5, 0.4, 0.3], None, False, False),
    ],
)
def test_it_is_over_after_so_many_validations_without_an_improvement(scores, patience, accuracy, error):
    rows = [{"iteration": str(10 * i), "val_accuracy": v, "val_mse": v} for i, v in enumerate(scores, 1)]
    assert (is_over(rows, patience, Categorical()), is_over(rows, patience, Gaussian())) == (accuracy, error)


def test_validations_before_an_extension_do_not_count():
    rows = [{"iteration": 10 * i, "val_accuracy": v} for i, v in enumerate([0.0, 0.9, 0.5, 0.4], 1)]
    assert [is_over(rows, 1, Categorical(), start) for start in (0, 20, 30)] == [True, True, False]


def test_a_score_of_zero_is_a_score_before_and_after_it_is_written():
    assert best_of([{"iteration": 10, "val_accuracy": 0.0}], Categorical()) == best_of(
        [{"iteration": "10", "val_accuracy": "0.0"}], Categorical()
    )
