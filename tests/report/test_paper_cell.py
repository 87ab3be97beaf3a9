"""The paper's number of a cell."""

import pytest

from stochlwta_tf.report import paper_cell
from tests.helpers.result_folders import cell


@pytest.mark.parametrize(
    ("suite", "row", "column", "variant", "number"),
    [
        ("table1", "StochLWTA-ML", "omniglot_20w5s", "the paper's network and rates", 98.97),
        ("table1", "BMAML", "cifar100_5w5s", None, 65.80),
        ("table2", "MAML", "miniimagenet_5w5s", "stochastic", 64.03),
        ("table3", "BMAML", "params_omniglot", None, 560025),
        ("table3", "StochLWTA-ML", "predict_ms", None, 113.44),
        ("table4", "J=8", "miniimagenet_5w5s", None, 67.08),
        ("table6", "Reptile", "params", None, 4353),
        ("table6", "StochLWTA-ML", "MSE, challenging", None, 1.98),
        ("table3", "BMAML", "params_omniglot, stored", None, None),
        ("table3", "StochLWTA-ML", "params_omniglot", None, None),  # 54,549 is what is stored
        ("table3", "StochLWTA-ML", "params_omniglot, stored", None, 54549),
        ("table3", "MAML", "train_ms", None, None),  # of another number of tasks than the paper's 50
        ("table3", "MAML", "train_ms, 50 tasks", None, 288.25),
        ("tableD1", "FOMAML", "accuracy", "dense ReLU", 92.83),
        ("tableD1", "FOMAML", "accuracy", "small convolutions", None),
        ("tableD1", "StochLWTA-ML", "params", None, None),
        ("tableD1", "StochLWTA-ML", "params, stored", None, 54549),
        ("tableD2", "StochLWTA-ML", "omniglot_20w1s", "the paper's size", 96.50),
        ("tableD2", "StochLWTA-ML", "params, 5-way", "the paper's size, point weights", 112005),
        ("figure2", "ABML", "omniglot_20w1s", None, 47.3),
        ("figure3a", "65", "miniimagenet_5w1s", None, 52.2),
        ("figure3a", "65", "omniglot_20w1s", None, None),
        ("figure3c", "9", "omniglot_20w1s", None, 96.1),
        ("smoke", "MAML", "sinusoid_default", None, None),
    ],
)
def test_the_papers_number_of_a_cell(suite, row, column, variant, number):
    assert paper_cell.reported(cell(suite, row, column, variant))[0] == number
