"""What each factor of the published code's scoring adds, and the number that code prints."""

import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import metrics
from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.evaluation import audit
from stochlwta_tf.figures import audit as audit_figure
from stochlwta_tf.tasks import TASKS
from stochlwta_tf.training import build, records
from stochlwta_tf.training import train as training
from stochlwta_tf.training.run_folder import RunFolder
from stochlwta_tf.training.running_mean import RunningMean
from tests.helpers.bars import CONFIG, IMAGES, Bars


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    monkeypatch.setitem(TASKS, "bars", Bars)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run under `original_code` whose outer step is too small to change its weights: the same network at each of its evaluations."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASKS, "bars", Bars)
        values = {**CONFIG, "task": {**CONFIG["task"], "protocol": "original_code"}, "optimizer": {"name": "sgd", "learning_rate": 1e-30}}
        config, folder = configuration.from_dict(values), RunFolder(tmp_path_factory.mktemp("runs") / "bars")
        training.train(config, folder)
    return folder


def test_the_printed_number_is_the_mean_over_all_evaluations(run):
    learner = keras.saving.load_model(run.model)
    for column, tasks in (
        ("running_test_accuracy", Bars("test", 1, 0, way=3, shot=2, protocol="original_code")),
        ("running_train_accuracy", Bars("validation", 1, 0, way=3, shot=2, protocol="original_code")),  # the training rows' bank
    ):
        p = np.concatenate([learner.predictive(learner.predict_tasks(tasks.sample(i))) for i in range(4)])
        expected = np.cumsum(metrics.accuracy_across_queries(p)) / np.arange(1, 5)
        np.testing.assert_allclose([float(row[column]) for row in records.read(run.metrics)], expected)
    assert json.loads(run.evaluation.read_text())["running_mean"]["test"] == pytest.approx(
        100 * float(records.read(run.metrics)[-1]["running_test_accuracy"])
    )


def test_a_resumed_mean_is_the_uninterrupted_one(run):
    config = configuration.load(run.config)
    learner = build.learner(config, build.tasks(config, "train"))
    learner.optimizer.iterations.assign(100)
    test = build.tasks(config, "test").variant(batch=1)
    mean = RunningMean(test.variant(bank=build.tasks(config, "train").bank, split="validation"), test, run.metrics, 100)
    history = learner.fit(
        build.tasks(config, "train").dataset(100), epochs=4, initial_epoch=2, steps_per_epoch=50, callbacks=[mean], verbose=0
    )
    for column in ("running_test_accuracy", "running_train_accuracy"):
        assert [repr(v) for v in history.history[column]] == [row[column] for row in records.read(run.metrics)[2:]]


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


def test_the_ladder_leads_from_one_protocol_to_the_other(run, capsys):
    assert evaluate.main(["--run", str(run.path), "--protocol", "original_code,standard"]) == 0
    ends = [json.loads((run.path / name).read_text()) for name in ("evaluation.json", "evaluation-standard.json")]
    assert evaluate.main(["--run", str(run.path), "--audit"]) == 0
    result = json.loads((run.path / "audit.json").read_text())
    factors = [row["factor"] for row in result["ladder"]]
    assert factors == [None, "running mean", "axis", "labels", "image replacement", "class replacement", "queries"]
    assert result["ladder"][0]["accuracy"] == ends[0]["running_mean"]["test"]
    for row, end in zip((result["ladder"][1], result["ladder"][-1]), ends, strict=True):
        assert row["accuracy"] == pytest.approx(end["measures"]["accuracy"]["value"])
        assert row["ci95"] == pytest.approx(end["measures"]["accuracy"]["ci95"])
    changes = [row["change"] for row in result["ladder"][1:]]
    assert result["ladder"][0]["accuracy"] + sum(changes) == pytest.approx(result["ladder"][-1]["accuracy"])
    assert [row["factor"] for row in result["alone"]] == [None, "axis", "labels", "image replacement", "class replacement"]
    assert (run.path / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert "from the published scoring to the standard one" in capsys.readouterr().out


def test_the_first_rung_is_what_the_code_prints_only_where_a_mean_was_recorded():
    assert audit_figure.label({"factor": None, "evaluations": 4}) == "as the published code prints it"
    assert audit_figure.label({"factor": None}) == "the trained network, published scoring"
    assert audit_figure.label({"factor": "running mean"}) == "the trained network, published scoring"


def test_the_leak_is_that_of_drawing_with_replacement():
    tasks = Bars("test", 1000, 0, way=3, shot=2, protocol="original_code")
    assert audit.leak(tasks.sample(0), 3).mean() == pytest.approx(1 - (1 - 1 / IMAGES) ** 2, abs=0.03)
    apart = tasks.variant(rules=tasks.rules._replace(image_replacement=False))
    assert audit.leak(apart.sample(0), 3).max() == 0
    assert audit.memoriser(45.0, 5) == pytest.approx(56.0)


def test_classes_with_too_few_images_are_left_out_where_none_may_come_twice():
    tasks = {name: Bars("test", 2, 0, way=3, shot=5, protocol=name, queries=1) for name in ("original_code", "standard")}
    small = tasks["original_code"].bank
    small.count[0] = 3
    rules = tasks["original_code"].rules
    assert len(audit.drawn_by(rules, tasks).bank) == 6
    assert "row 100" not in audit.drawn_by(rules._replace(image_replacement=False), tasks).bank.names
