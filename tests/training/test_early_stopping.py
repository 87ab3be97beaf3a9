"""`training.patience`: the rule by which a training ends; tests/training/test_best.py ends one by it."""

import pytest

from stochlwta_tf.objectives import Categorical, Gaussian
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
    rows = [{"iteration": str(10 * i), "val_accuracy": v, "val_mse": v} for i, v in enumerate(scores)]
    assert (is_over(rows, patience, Categorical()), is_over(rows, patience, Gaussian())) == (accuracy, error)
