"""What a classifier's uncertainty is worth."""

import json

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from stochlwta_tf.cli import evaluate
from stochlwta_tf.evaluation import Predictions, uncertainty
from stochlwta_tf.objectives import Categorical
from tests.helpers.bars import run


class Fixed:
    """Stands for a learner whose predictions are known."""

    def __init__(self, average="logits"):
        self.likelihood = Categorical(average)

    def predictive(self, draws):
        return self.likelihood.predictive(tf.experimental.numpy.moveaxis(tf.convert_to_tensor(draws), 1, 0))


@pytest.mark.parametrize("average", ["logits", "probabilities"])
def test_the_temperature_is_the_factor_by_which_logits_are_too_large(average):
    rng = np.random.default_rng(0)
    logits = rng.normal(0, 2, (400, 1, 20, 4)).astype("float32")
    y = (special.softmax(logits[:, 0], -1).cumsum(-1) < rng.random((400, 20, 1))).sum(-1)
    learner, draws = Fixed(average=average), np.repeat(3.0 * logits, 2, axis=1)
    predictions = Predictions(y, draws, learner.predictive(draws).numpy(), np.zeros(1))
    temperature, half = uncertainty.fit_temperature(learner, predictions)
    assert temperature == pytest.approx(3.0, rel=0.05)
    again = [
        uncertainty.fit_temperature(learner, predictions._replace(draws=draws[i], mean=predictions.mean[i], query_y=y[i]))[0]
        for i in rng.integers(0, len(y), (60, len(y)))
    ]
    assert half == pytest.approx(1.96 * np.std(again), rel=0.3)  # the bootstrap's interval
    scaled = uncertainty.at_temperature(learner, predictions, 3.0)
    np.testing.assert_allclose(scaled.mean, special.softmax(logits[:, 0], -1), rtol=1e-4)


def test_an_unknown_class_beats_the_known_ones_whose_entropy_is_less():
    # Three known classes of two queries and an unknown one; sure of all known queries but the first, where it ties.
    logits = np.zeros((5, 8, 3), "float32")
    logits[:, 1:6, 0] = 9.0
    logits[4] = np.nan
    p = special.softmax(logits, -1)
    predictions = Predictions(np.repeat([[0, 0, 1, 1, 2, 2]], 5, 0), logits[:, None, :6], p[:, :6], np.zeros(1), with_unknown=p)
    np.testing.assert_allclose(uncertainty.unknown_class(predictions), [(5 + 0.5) / 6] * 4 + [np.nan])


def test_the_command_adds_its_measures(bars, tmp_path):
    folder = run(tmp_path / "run")
    out = tmp_path / "result.json"
    options = ["evaluation.uncertainty=true", "evaluation.tasks=20"]
    assert evaluate.main(["--run", str(folder.path), "--set", *options, "--out", str(out)]) == 0
    (file,) = tmp_path.glob("result*.json")
    measures = json.loads(file.read_text())["measures"]
    assert {"temperature", "nll_scaled", "brier_scaled", "ece_scaled", "selective80", "auroc_unknown"} <= set(measures)
    assert measures["nll_scaled"]["value"] <= measures["nll"]["value"] + 0.1 and measures["auroc_unknown"]["unit"] == "%"


def test_both_statistics_are_one_command(bars, tmp_path):
    folder = run(tmp_path / "run", network={"name": "conv4", "filters": 2})
    options = ["--run", str(folder.path), "--set", "evaluation.uncertainty=true", "evaluation.tasks=20"]
    assert evaluate.main([*options, "evaluation.both_statistics=true"]) == 0
    assert evaluate.main([*options, "evaluation.batch_statistics=support", "--out", str(tmp_path / "alone.json")]) == 0
    files = (folder.evaluation, folder.path / "evaluation-batch_statisticssupport.json", tmp_path / "alone.json")
    own, other, alone = (json.loads(path.read_text()) for path in files)
    assert (own["batch_statistics"], other["batch_statistics"]) == ("transductive", "support")
    assert own["measures"] != other["measures"]
    for name, row in alone["measures"].items():
        assert other["measures"][name] == pytest.approx(row, abs=1e-3), name
    assert own["adapt_and_predict"]["milliseconds_per_task"] > 0


def test_a_regression_has_none(capsys):
    from stochlwta_tf.cli import train

    assert train.main(["--config", "sinusoid_default", "--set", "evaluation.uncertainty=true", "--out", "never"]) == 2
    assert "evaluation.uncertainty needs a classification whose queries are scored one by one." in capsys.readouterr().err
