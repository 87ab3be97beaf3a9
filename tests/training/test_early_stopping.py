"""`training.patience`: a training ends when validations no longer improve, in a resumed run where in an uninterrupted one."""

import json

import pytest
import yaml

from stochlwta_tf.cli import train
from stochlwta_tf.config import configuration
from stochlwta_tf.objectives import Categorical, Gaussian
from stochlwta_tf.report import collect
from stochlwta_tf.training.early_stopping import is_over
from stochlwta_tf.training.records import read
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.train import train as training
from tests.training.test_best import CONFIG


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


def test_a_stopped_training_says_so_ends_in_the_same_place_again_and_counts_its_iterations(tmp_path, capsys):
    values = {**CONFIG, "training": {**CONFIG["training"], "patience": 2}}
    path, out = tmp_path / "config.yaml", tmp_path / "runs" / "best"
    path.write_text(yaml.safe_dump(values))
    assert train.main(["--config", str(path), "--out", str(out)]) == 0
    folder = RunFolder(out)
    rows = read(folder.metrics)
    scores = [float(row["val_mse"]) for row in rows]
    best = scores.index(min(scores))
    assert len(rows) == best + 3 < 6, "nothing was stopped: the test shows nothing"
    assert f"stopped at iteration {10 * len(rows)}: 2 validations without an improvement" in capsys.readouterr().err
    result = json.loads(folder.evaluation.read_text())
    assert (result["iterations"], result["training"]["best_iteration"]) == (10 * len(rows), 10 * (best + 1))
    assert [r.evaluation.iterations for r in collect.read(tmp_path / "runs").results] == [10 * len(rows)]

    folder.model.unlink()  # as if it had been killed before the model was written
    training(configuration.load(folder.config), folder)
    assert read(folder.metrics) == rows and folder.model.exists()
