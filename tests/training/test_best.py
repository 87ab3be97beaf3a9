"""The model of the best validation, and the end of a training that gains nothing more: `training.keep_best`, `training.patience`."""

import json

import keras
import numpy as np
import pytest
import yaml

from stochlwta_tf.cli import train
from stochlwta_tf.config import configuration
from stochlwta_tf.objectives import Categorical, Gaussian
from stochlwta_tf.report import collect
from stochlwta_tf.tasks import Sinusoid
from stochlwta_tf.training.best import best_of
from stochlwta_tf.training.records import read
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.train import train as training

CONFIG = {
    "name": "best",
    "task": {"name": "sinusoid"},
    "network": {"name": "mlp", "units": [8]},
    "learner": {"name": "fomaml", "inner_steps": 1},
    "optimizer": {"name": "adam", "learning_rate": 0.3},  # so high that the score goes up and down
    "training": {
        "iterations": 60,
        "meta_batch_size": 4,
        "log_every": 10,
        "validate_every": 10,
        "validation_tasks": 20,
        "keep_best": True,
        "max_to_keep": 6,
    },
    "evaluation": {"tasks": 20, "batch": 20},
}


def test_the_first_of_the_best_scores_counts_and_a_missing_one_does_not():
    rows = [{"iteration": str(i), "val_accuracy": v, "val_mse": v} for i, v in enumerate(["", "0.5", "nan", "0.7", "0.7", "0.2"])]
    assert best_of(rows, Categorical()) == (3, 0.7)
    assert best_of(rows, Gaussian()) == (5, 0.2)
    assert best_of(rows[:1], Gaussian()) is None and best_of([], Gaussian()) is None


def test_the_tested_model_is_that_of_the_best_validation_and_a_resumed_run_keeps_the_same(tmp_path, capsys):
    path, out = tmp_path / "config.yaml", tmp_path / "runs" / "best"
    path.write_text(yaml.safe_dump({**CONFIG, "training": {**CONFIG["training"], "patience": 2}}))
    assert train.main(["--config", str(path), "--out", str(out)]) == 0
    folder = RunFolder(out)
    rows = read(folder.metrics)
    scores, core = ([float(row[name]) for row in rows] for name in ("val_mse", "core_seconds"))
    assert core == sorted(core) and 0 < core[-1] < 60  # compiling and validating left out
    best = int(np.argmin(scores))
    assert len(rows) == best + 3 < 6, "nothing was stopped, or the last validation is the best: the test shows nothing"
    assert f"stopped at iteration {10 * len(rows)}: 2 validations without an improvement" in capsys.readouterr().err
    learner = keras.saving.load_model(folder.model)
    data = Sinusoid("validation", 20, 0).dataset(0, 1)
    assert float(learner.evaluate(data, verbose=0, return_dict=True)["mse"]) == pytest.approx(scores[best], rel=1e-5)
    result = json.loads(folder.evaluation.read_text())
    said = result["training"]
    assert said["best_iteration"] == 10 * (best + 1) and said["validation"] == scores[best]
    assert [result["iterations"], *(r.evaluation.iterations for r in collect.read(tmp_path / "runs").results)] == 2 * [10 * len(rows)]
    weights = learner.get_weights()

    folder.model.unlink()
    learner.set_weights([0 * w for w in weights])
    learner.save_weights(folder.best)  # the best of the time before, which the resumed run replaces
    for late in folder.checkpoints.glob("ckpt-*"):
        if int(late.name.split("-")[1].split(".")[0]) > 10 * max(best, 1):  # a state before the best
            late.unlink()
    training(configuration.load(folder.config), folder)
    assert [row["val_mse"] for row in read(folder.metrics)] == [row["val_mse"] for row in rows]
    for ours, expected in zip(keras.saving.load_model(folder.model).get_weights(), weights, strict=True):
        np.testing.assert_array_equal(ours, expected)

    rows = read(folder.metrics)
    folder.model.unlink()  # as if it had been killed before the model was written: nothing is left to train
    training(configuration.load(folder.config), folder)
    assert read(folder.metrics) == rows and folder.model.exists()


def test_without_validation_there_is_no_best():
    values = {**CONFIG, "training": {**CONFIG["training"], "validate_every": 0}}
    with pytest.raises(Exception, match=r"training.keep_best needs training.validate_every above 0. Received: training.keep_best=true\.$"):
        configuration.from_dict(values)
