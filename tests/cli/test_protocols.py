"""Tests of a run under the protocols, from the command line."""

import json

import numpy as np
import pytest

from stochlwta_tf import metrics
from stochlwta_tf.cli import evaluate
from stochlwta_tf.tasks import TASKS
from stochlwta_tf.tasks.protocols import ProtocolName
from stochlwta_tf.training import build
from tests.helpers.bars import Bars, bank, run

pytestmark = pytest.mark.usefixtures("bars")


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

    dict.__setitem__(TASKS, "bars", Mixed)  # which the registry itself refuses
    assert evaluate.main(["--run", str(folder.path), "--protocol", "paper,standard"]) == 2
    assert "not trained on, but 3 are in both. Received: class 'row 3'." in capsys.readouterr().err
    assert {p.name for p in folder.path.iterdir()} == names


def test_the_classes_trained_on_are_those_of_the_runs_own_split(tmp_path, capsys):
    class Shifted(Bars):
        def __init__(self, split, batch, seed, *, shift_by: int = 0, **options):
            super().__init__(split, batch, seed, **options)
            first = shift_by + (6 if split == "test" else 0)
            self.bank = bank([row % 12 for row in range(first, first + 6)])

    dict.__setitem__(TASKS, "bars", Shifted)
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
