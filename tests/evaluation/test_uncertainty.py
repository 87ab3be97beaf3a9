"""What a classifier's uncertainty is worth."""

import json

import numpy as np
import pytest
import tensorflow as tf
from scipy import special

from stochlwta_tf.cli import evaluate
from stochlwta_tf.evaluation import Predictions, uncertainty
from stochlwta_tf.objectives import Categorical
from tests.helpers.bars import Bars, run


class Fixed:
    """Stands for a learner whose logits are a function of the batch."""

    def __init__(self, outputs=None, average="logits"):
        self.likelihood, self._outputs, self.seen = Categorical(average), outputs, []

    def predictive(self, draws):
        return self.likelihood.predictive(tf.experimental.numpy.moveaxis(tf.convert_to_tensor(draws), 1, 0))

    def predict_tasks(self, batch):
        self.seen.append(batch)
        return self._outputs(batch)


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


def test_an_unknown_class_is_in_the_queries_alone():
    tests = Bars("test", 4, 0, way=3, shot=2, queries=2)

    def outputs(batch):  # sure of the queries of known classes, but for one of each task's six
        logits = 9.0 * tf.one_hot(batch.query_y, 3)
        return tf.concat([tf.zeros_like(logits[:, :1]), logits[:, 1:]], 1)[:, None]

    learner = Fixed(outputs)
    found = uncertainty.unknown_class(learner, tests, 6)
    assert [batch.support_y.numpy().tolist() for batch in learner.seen] == [[[0, 0, 1, 1, 2, 2]] * 4] * 2
    assert all(set(y) == {0, 1, 2, 3} for batch in learner.seen for y in batch.query_y.numpy())
    np.testing.assert_allclose(found, [(5 + 0.5) / 6] * 6)  # each unknown one beats five and ties with the sixth


def test_the_command_adds_its_measures(bars, tmp_path):
    folder = run(tmp_path / "run")
    out = tmp_path / "result.json"
    options = ["evaluation.uncertainty=true", "evaluation.tasks=20"]
    assert evaluate.main(["--run", str(folder.path), "--set", *options, "--out", str(out)]) == 0
    (file,) = tmp_path.glob("result*.json")
    measures = json.loads(file.read_text())["measures"]
    assert {"temperature", "nll_scaled", "brier_scaled", "ece_scaled", "selective80", "auroc_unknown"} <= set(measures)
    assert measures["nll_scaled"]["value"] <= measures["nll"]["value"] + 0.1 and measures["auroc_unknown"]["unit"] == "%"


def test_a_regression_has_none(capsys):
    from stochlwta_tf.cli import train

    assert train.main(["--config", "sinusoid_default", "--set", "evaluation.uncertainty=true", "--out", "never"]) == 2
    assert "evaluation.uncertainty needs a classification whose queries are scored one by one." in capsys.readouterr().err
