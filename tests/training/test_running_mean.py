"""The running mean over a training's tests that the published code prints."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import metrics
from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.training import build, records
from stochlwta_tf.training.running_mean import RunningMean
from tests.helpers.bars import Bars

pytestmark = pytest.mark.usefixtures("bars")


def test_the_printed_number_is_the_mean_over_all_evaluations(bars_run):
    learner = keras.saving.load_model(bars_run.model)
    for column, tasks in (
        ("running_test_accuracy", Bars("test", 1, 0, way=3, shot=2, protocol="original_code")),
        ("running_train_accuracy", Bars("validation", 1, 0, way=3, shot=2, protocol="original_code")),  # the training rows' bank
    ):
        p = np.concatenate([learner.predictive(learner.predict_tasks(tasks.sample(i))) for i in range(4)])
        expected = np.cumsum(metrics.accuracy_across_queries(p)) / np.arange(1, 5)
        np.testing.assert_allclose([float(row[column]) for row in records.read(bars_run.metrics)], expected)
    assert evaluate.main(["--run", str(bars_run.path), "--protocol", "original_code"]) == 0
    assert json.loads(bars_run.evaluation.read_text())["running_mean"]["test"] == pytest.approx(
        100 * float(records.read(bars_run.metrics)[-1]["running_test_accuracy"])
    )


def test_a_resumed_mean_is_the_uninterrupted_one(bars_run):
    config = configuration.load(bars_run.config)
    learner = build.learner(config, build.tasks(config, "train"))
    learner.optimizer.iterations.assign(100)
    test = build.tasks(config, "test").variant(batch=1)
    mean = RunningMean(test.variant(bank=build.tasks(config, "train").bank, split="validation"), test, bars_run.metrics, 100)
    history = learner.fit(
        build.tasks(config, "train").dataset(100), epochs=4, initial_epoch=2, steps_per_epoch=50, callbacks=[mean], verbose=0
    )
    for column in ("running_test_accuracy", "running_train_accuracy"):
        assert [repr(v) for v in history.history[column]] == [row[column] for row in records.read(bars_run.metrics)[2:]]


def test_the_mean_begins_with_the_untrained_network(tmp_path):
    tasks = Bars("test", 1, 0, way=3, shot=2, protocol="original_code")
    seen = []

    class Learner:
        optimizer = type("Optimizer", (), {"iterations": 0})

        def predict_tasks(self, task):
            seen.append(self.optimizer.iterations)
            return np.eye(3)[None, None]

        def predictive(self, draws):
            return tf.constant(draws[:, 0])

    mean = RunningMean(tasks, tasks, tmp_path / "metrics.csv", 0)
    mean.set_model(Learner())
    for done in range(0, 130, 10):
        Learner.optimizer.iterations = done
        mean.on_train_batch_begin(done)
    assert seen == [0, 0, 50, 50, 100, 100]  # a task of the training and one of the test classes
    logs = {}
    mean.on_epoch_end(0, logs)
    assert logs["running_test_accuracy"] == 1.0


def test_a_run_stopped_within_the_first_fifty_iterations_goes_on(tmp_path):
    path, tasks = tmp_path / "metrics.csv", Bars("test", 1, 0, way=3, shot=2, protocol="original_code")
    path.write_text("iteration,seconds,running_train_accuracy,running_test_accuracy\n20,2.0,0.6666666666666666,0.3333333333333333\n")
    logs = {}
    RunningMean(tasks, tasks, path, 20).on_epoch_end(2, logs)
    assert logs == {"running_train_accuracy": 2 / 3, "running_test_accuracy": 1 / 3}
