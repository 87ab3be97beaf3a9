"""The test of a trained run."""

import json

import keras
import numpy as np
import pytest

import stochlwta_tf  # noqa: F401  registers the learners
from stochlwta_tf.cli import evaluate
from stochlwta_tf.cli.run_test import run_test
from stochlwta_tf.config import configuration
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder
from tests.helpers.html_pages import Page
from tests.helpers.untrained_runs import untrained

REGRESSION = {
    "name": "tiny",
    "task": {"name": "sinusoid", "setting": "challenging", "train_queries": 0},
    "network": {"name": "mlp", "units": [4]},
    "learner": {"name": "reptile", "inner_steps": 1},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "training": {"iterations": 100, "meta_batch_size": 4},
    "evaluation": {"tasks": 10, "batch": 4},
}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return untrained(REGRESSION, tmp_path_factory.mktemp("runs") / "tiny")


def test_a_regression_result_is_that_of_the_tasks_one_by_one(run):
    assert evaluate.main(["--run", str(run.path)]) == 0
    result = json.loads(run.evaluation.read_text())
    learner = keras.saving.load_model(run.model)
    config = configuration.load(run.config)
    tasks, errors = build.tasks(config, "test"), []
    for index in range(3):
        batch = tasks.sample(index)
        for i in range(4):
            adapted = learner.adapt_to(batch.support_x[i].numpy(), batch.support_y[i].numpy())
            errors.append(np.mean((adapted.predict(batch.query_x[i].numpy()).mean - batch.query_y[i].numpy()) ** 2))
    assert result["measures"]["mse"]["value"] == pytest.approx(np.mean(errors[:10]), rel=1e-5)
    assert result["measures"]["mse"]["ci95"] == pytest.approx(2.262157 * np.std(errors[:10], ddof=1) / np.sqrt(10), rel=1e-4)
    assert (result["tasks"], result["protocol"], result["noise_std"]) == (10, "standard", 1.0)
    assert "paper" not in result["measures"]["mse"]  # another network, and too short
    assert result["per_task"]["mse"] == pytest.approx(errors[:10], rel=1e-4)
    assert result["measures"]["mse"]["median"] == pytest.approx(np.median(errors[:10]), rel=1e-5)
    assert result["parameters"] == {"trainable": 13, "stored": 13}
    assert (result["inner_steps"], result["draws"]) == (1, 1)


def test_the_figure_of_predictions_is_a_picture(run):
    assert evaluate.main(["--run", str(run.path), "--tasks", "4", "--out", str(run.path / "other.json")]) == 0
    assert (run.path / "other.png").read_bytes().startswith(b"\x89PNG")


def test_a_runs_page_has_the_predictions_of_its_model(run, tmp_path):
    run.figure.unlink(missing_ok=True)
    out = tmp_path / "report.html"
    assert evaluate.main(["--run", str(run.path), "--html", "--out", str(out)]) == 0
    page = Page(out.read_text(encoding="utf-8"))
    page.check_alone()
    assert {"support points", "90 % band (σ = 1)", "truth"} <= set(page.pieces)
    assert not run.figure.exists()


def test_overrides_change_the_test_and_not_the_model(run, tmp_path):
    results = []
    for steps in (0, 5):
        out = tmp_path / f"{steps}.json"
        assert evaluate.main(["--run", str(run.path), "--set", f"evaluation.inner_steps={steps}", "--out", str(out)]) == 0
        results.append(json.loads(out.read_text()))
    mse = [result["measures"]["mse"]["value"] for result in results]
    assert mse[0] > mse[1]
    assert [result["inner_steps"] for result in results] == [0, 5]


def test_inner_steps_of_the_test_go_before_the_learners_own_for_tests():
    learner = {"name": "reptile", "inner_steps": 1, "test_inner_steps": 7}
    config = configuration.from_dict({**REGRESSION, "learner": learner, "evaluation": {"inner_steps": 3}})
    assert build.for_test(build.learner(config, build.tasks(config, "train")), config).steps_at_test == 3


def test_one_test_has_the_measures_after_several_numbers_of_steps(run, tmp_path, capsys):
    out = tmp_path / "steps.json"
    assert evaluate.main(["--run", str(run.path), "--set", "evaluation.inner_step_counts=[0, 1, 3]", "--out", str(out)]) == 0
    result = json.loads(out.read_text())
    assert list(result["after_steps"]) == ["0", "1", "3"]
    assert result["after_steps"]["1"]["mse"]["value"] == result["measures"]["mse"]["value"]  # the run's own number of steps
    tasks, network, errors = build.tasks(configuration.load(run.config), "test"), keras.saving.load_model(run.model).network, []
    for index in range(3):
        batch = tasks.sample(index)
        errors.extend(np.mean((network(batch.query_x[i]).numpy() - batch.query_y[i].numpy()) ** 2) for i in range(4))
    assert result["after_steps"]["0"]["mse"]["value"] == pytest.approx(np.mean(errors[:10]), rel=1e-5)  # not adapted
    said = capsys.readouterr()
    assert "steps" in said.out and [f"Testing (inner_steps={n}): 0/10" in said.err for n in (0, 1, 3)] == [True] * 3
    assert said.err.count("(inner_steps=1): 0/") == 1  # its own number is not tested twice


@pytest.mark.slow
def test_a_learned_noise_is_reported_and_used(tmp_path):
    config = configuration.from_dict({**REGRESSION, "learner": {"name": "reptile", "learn_noise_std": True, "inner_steps": 0}})
    folder = untrained(config, tmp_path / "run")
    distribution = build.tasks(config, "test")
    result = run_test(config, folder, distribution, ())
    assert result["measures"]["noise_std"]["value"] == result["noise_std"] == pytest.approx(1.0)
    fixed = configuration.from_dict({**REGRESSION, "learner": {"name": "reptile", "inner_steps": 0}})
    other = run_test(fixed, untrained(fixed, tmp_path / "fixed"), distribution, ())
    for name in ("mse", "nll", "coverage90"):  # as with the same noise fixed
        assert result["measures"][name]["value"] == pytest.approx(other["measures"][name]["value"], rel=1e-5)


def test_a_classification_result_has_its_measures(tmp_path):
    values = {**REGRESSION, "task": {"name": "glyphs", "way": 3, "queries": 5, "train_queries": 0}}
    values["network"] = {"name": "mlp", "units": [4]}
    config = configuration.from_dict(values)
    folder = untrained(config, tmp_path / "run")
    result = run_test(config, folder, build.tasks(config, "test"), trained=())
    assert list(result["measures"]) == ["accuracy", "nll", "brier", "ece"]
    assert 0 < result["measures"]["accuracy"]["value"] < 100
    assert result["measures"]["nll"]["value"] == pytest.approx(np.log(3), abs=0.5)  # untrained: near chance
    assert "noise_std" not in result
    assert not folder.figure.exists()


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ["--set", "learner.inner_lr=1"],
            "--set can change the sections evaluation, active_learning, task, runtime (as in task.shot=5) of a trained run."
            " Received: learner.inner_lr=1.",
        ),
        (["--tasks", "many"], 'evaluation.tasks must be a valid integer. Received: evaluation.tasks="many".'),
        (["--set", "task.name=glyphs"], "the tasks need inputs and outputs of ((28, 28, 1), 5). Received: a model of ((1,), 1)."),
        (["--set", "evaluation.drawz=3"], "unknown key evaluation.drawz. Did you mean 'draws'?"),
        (["--set", "evaluation.learn_noise_std=true"], "unknown key evaluation.learn_noise_std."),
        (["--out", "a.png"], "a test's --out must end in .json; the figure is written next to it. Received: --out a.png."),
    ],
)
def test_what_is_wrong_is_one_line(run, capsys, options, message):
    assert evaluate.main(["--run", str(run.path), *options]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1


def test_a_test_that_diverges_is_no_result(run, tmp_path, capsys):
    out, diverging = tmp_path / "a.json", ["evaluation.inner_optimizer=sgd", "evaluation.inner_lr=1e38"]
    command = ["--run", str(run.path), "--out", str(out), "--set", *diverging, "evaluation.test_inner_steps=3"]
    assert evaluate.main(command) == 3
    assert "10 of 10 test tasks diverged, first task 0, so there is no median: evaluation.inner_clip_norm" in capsys.readouterr().err
    assert not out.exists()
    assert evaluate.main([*command[:-1], "evaluation.test_inner_steps=0", "evaluation.inner_step_counts=[0, 3]"]) == 0
    assert list(json.loads(out.read_text())["after_steps"]) == ["0"]
    assert "after 3 inner steps: 10 of 10 test tasks diverged" in capsys.readouterr().out


@pytest.mark.badinput
def test_a_run_without_a_model_is_one_line(tmp_path, capsys):
    assert evaluate.main(["--run", str(tmp_path)]) == 2
    assert "has no trained model (model.keras): train first" in capsys.readouterr().err


@pytest.mark.badinput
def test_a_damaged_model_is_one_line(run, tmp_path, capsys):
    damaged = RunFolder(tmp_path)
    damaged.config.write_text(run.config.read_text())
    damaged.model.write_bytes(run.model.read_bytes()[:1000])
    assert evaluate.main(["--run", str(tmp_path)]) == 2
    assert "model.keras: cannot be loaded" in capsys.readouterr().err
