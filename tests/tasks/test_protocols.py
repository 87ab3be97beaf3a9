"""Three protocols: their classes, their tasks, their scores, and that they are never mixed."""

import json

import numpy as np
import pytest

from stochlwta_tf import metrics
from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.evaluation import measured
from stochlwta_tf.evaluation.predictions import Predictions
from stochlwta_tf.tasks import SPLITS, TASKS, ImageTasks
from stochlwta_tf.tasks.protocols import PROTOCOLS, ProtocolName, check_disjoint
from stochlwta_tf.training import build, data_record
from stochlwta_tf.training.run_folder import RunFolder
from tests.helpers.bars import CONFIG, Bars, bank


@pytest.fixture(autouse=True)
def bars(monkeypatch):
    monkeypatch.setitem(TASKS, "bars", Bars)


def run(folder, protocol="standard"):
    """A run folder as after training under a protocol, of a learner with fresh weights."""
    config = configuration.from_dict({**CONFIG, "task": {**CONFIG["task"], "protocol": protocol}})
    folder = RunFolder(folder)
    folder.begin(config, data_record.describe({split: build.tasks(config, split) for split in SPLITS}))
    build.learner(config, build.tasks(config, "train")).save(folder.model)
    return folder


def test_a_class_in_training_and_test_is_an_error_in_standard_alone():
    banks = {"train": bank(range(6)), "test": bank(range(5, 8))}
    with pytest.raises(ConfigurationError, match=r"but 1 are in both. Received: class 'row 5'\.$"):
        ImageTasks(banks, "test", 2, 0, queries=2)
    ImageTasks(banks, "test", 2, 0, queries=2, way=2, protocol="original_code")


def test_a_class_that_was_trained_on_turned_was_trained_on():
    names = bank(range(3)).names
    with pytest.raises(ConfigurationError, match=r"but 3 are in both. Received: class 'row 0'\.$"):
        check_disjoint([f"{name} 90°" for name in names], names)


def test_a_data_set_has_its_own_protocols():
    with pytest.raises(ConfigurationError, match=r"protocol of Glyphs must be one of standard, original_code. Received: protocol=paper\.$"):
        TASKS["glyphs"]("test", 2, 0, protocol="paper")


def test_the_original_code_tests_on_one_query_a_class_that_may_be_a_support_image():
    tasks = Bars("test", 2000, 0, way=3, shot=2, queries=9, protocol="original_code")
    batch = tasks.sample(0)
    assert batch.query_x.shape == (2000, 3, 12, 12, 1)
    query, support = (np.reshape(x, (2000, 3, -1, 144)) for x in (batch.query_x, batch.support_x))
    same = np.any(np.all(query == support, -1), -1)
    assert same.mean() == pytest.approx(1 - (5 / 6) ** 2, abs=0.02)
    classes = np.argmax(support[:, :, 0].reshape(2000, 3, 12, 12).sum(-1), -1)
    distinct = np.mean([len(set(row)) == 3 for row in classes])
    assert distinct == pytest.approx(5 / 6 * 4 / 6, abs=0.04)


def test_scoring_across_queries_is_what_numpy_says():
    rng = np.random.default_rng(0)
    p = rng.random((50, 4, 4))
    expected = [np.mean([np.argmax([p[t, i, c] for i in range(4)]) == c for c in range(4)]) for t in range(50)]
    np.testing.assert_allclose(metrics.accuracy_across_queries(p), expected)
    # Each query's most probable class is 0, yet each class has its own query as its best.
    p = np.array([[[0.9, 0.05, 0.05], [0.5, 0.4, 0.1], [0.5, 0.1, 0.4]]])
    assert metrics.accuracy(p, np.arange(3)[None]) == pytest.approx(1 / 3)
    assert metrics.accuracy_across_queries(p) == pytest.approx(1.0)


def test_a_constant_answer_is_right_once_in_n():
    p = np.zeros((7, 15, 5))
    p[..., 0] = 1.0
    labels = np.tile(np.repeat(np.arange(5), 3), (7, 1))
    predictions = Predictions(labels, p[:, None], p, np.zeros(1))
    assert measured.classification(predictions, PROTOCOLS["standard"])["accuracy"][:2] == pytest.approx((20.0, 0.0))


def test_one_command_tests_under_all_three_and_keeps_them_apart(tmp_path, capsys):
    folder = run(tmp_path / "run")
    assert evaluate.main(["--run", str(folder.path), "--protocol", "standard,paper,original_code"]) == 0
    files = {"standard": "evaluation.json", "paper": "evaluation-paper.json", "original_code": "evaluation-original_code.json"}
    results = {name: json.loads((folder.path / file).read_text()) for name, file in files.items()}
    assert [r["protocol"] for r in results.values()] == list(files)
    assert [r["task"]["protocol"] for r in results.values()] == list(files)
    assert results["standard"]["classes"] == {"test": 6, "also_trained_on": 0}
    assert results["paper"]["classes"] == {"test": 6, "also_trained_on": 6}
    assert "6 of the 6 test classes were trained on." in capsys.readouterr().out
    tasks = Bars("test", 20, 0, way=3, shot=2, protocol="original_code")
    learner = build.saved_learner(folder.model, tasks)
    p = np.concatenate([learner.predictive(learner.predict_tasks(tasks.sample(i))) for i in range(2)])
    assert results["original_code"]["measures"]["accuracy"]["value"] == pytest.approx(100 * metrics.accuracy_across_queries(p).mean())


def test_what_was_trained_on_cannot_be_tested_as_standard(tmp_path, capsys):
    folder = run(tmp_path / "run", "paper")
    assert evaluate.main(["--run", str(folder.path)]) == 0
    names = {p.name for p in folder.path.iterdir()}

    class Mixed(Bars):
        def __init__(self, split, batch, seed, *, protocol: ProtocolName = "standard", **options):
            super().__init__(split, batch, seed, protocol=protocol, **options)
            if protocol == "standard" and split == "test":
                self.bank = bank(range(3, 9))

    TASKS["bars"] = Mixed
    assert evaluate.main(["--run", str(folder.path), "--protocol", "paper,standard"]) == 2
    assert "not trained on, but 3 are in both. Received: class 'row 3'." in capsys.readouterr().err
    assert {p.name for p in folder.path.iterdir()} == names


def test_the_classes_trained_on_are_those_of_the_runs_own_split(tmp_path, capsys):
    class Shifted(Bars):
        def __init__(self, split, batch, seed, *, shift_by: int = 0, **options):
            super().__init__(split, batch, seed, **options)
            first = shift_by + (6 if split == "test" else 0)
            self.bank = bank([row % 12 for row in range(first, first + 6)])

    TASKS["bars"] = Shifted
    folder = run(tmp_path / "run")
    assert evaluate.main(["--run", str(folder.path)]) == 0
    for picture in ([], ["--reliability"]):  # the split of the test alone would be disjoint
        assert evaluate.main(["--run", str(folder.path), *picture, "--set", "task.shift_by=4"]) == 2
        assert "not trained on, but 4 are in both. Received: class 'row 0'." in capsys.readouterr().err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--protocol", "papre"], "task.protocol must be 'standard', 'paper' or 'original_code'. Received: task.protocol=\"papre\"."),
        (["--set", "task.protocol=paper"], "use --protocol to test under another protocol. Received: --set task.protocol=paper."),
    ],
)
def test_wrong_protocols_are_one_line(tmp_path, capsys, options, message):
    assert evaluate.main(["--run", str(run(tmp_path / "run").path), *options]) == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
