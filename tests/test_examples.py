"""The examples of docstrings, the README, the documentation and `examples/` run, and print what they are said to print."""

import doctest
import importlib
import json
import os
import re
import runpy
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import layers, learners, networks, objectives, tasks
from stochlwta_tf.cli import predict, train
from stochlwta_tf.config import configuration, suites
from stochlwta_tf.report import collect
from tests.helpers import REPOSITORY
from tests.helpers.documents import blocks

PACKAGE = REPOSITORY / "stochlwta_tf"
#: Their examples train for long, or need a data set, a finished run or a folder of the reader's.
NOT_RUN = {
    "cli.suite_runner", "evaluation.evaluate", "inference.load", "inference.pictures", "sklearn",
    "tasks.augmentation", "tasks.cache", "tasks.cifar100", "tasks.duplicates",
    "tasks.glyphs", "tasks.image_folder", "tasks.miniimagenet", "tasks.miniimagenet_builder", "tasks.miniimagenet_layouts",
    "tasks.omniglot", "tasks.picture_files", "tasks.safe_pickle", "tasks.tfds_source", "training.data_record", "training.run_folder",
    *(f"learners.{path.stem}" for path in (PACKAGE / "learners").glob("*.py") if path.stem not in ("stein", "task_runner")),
}  # fmt: skip
#: The same, one by one, in modules whose other examples run.
SKIPPED = {
    "tasks.class_split.from_file",
    "tasks.picture_files.listed",
    "tasks.decoding.decode",
    "tasks.decoding.in_parallel",
    "learners.task_runner.TaskRunner",
}


def with_prompts(path):
    return ">>> " in path.read_text(encoding="utf-8")


def dotted(path):
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts)


MODULES = sorted({dotted(path) for path in PACKAGE.rglob("*.py") if with_prompts(path)} - NOT_RUN)


def namespace():
    """What examples take for granted."""
    images, labels = np.arange(6 * 784, dtype="uint8").reshape(6, 28, 28, 1), [0, 0, 0, 1, 1, 1]
    many, classes = np.random.default_rng(0).integers(0, 256, (80, 28, 28, 1), "uint8"), np.repeat(range(5), 16)
    bank = tasks.ClassBank.from_labels(many, classes, names=["cat", "dog", "owl", "fox", "bee"])
    distribution = tasks.ImageTasks({"train": bank}, "train", batch=2, seed=0)
    points = np.arange(12, dtype="float32").reshape(4, 3)
    return {
        **{k: v for module in (layers, learners, objectives, tasks, networks) for k, v in vars(module).items() if k[0] != "_"},
        "Path": Path, "np": np, "tf": tf, "keras": keras, "networks": networks, "suites": suites,
        "configuration": configuration, "collect": collect,
        "images": images, "labels": labels, "bank": bank, "tasks": distribution, "support_x": points, "query_x": points[:2],
        "particles": tf.constant(points), "maml": learners.MAML(networks.mlp((3,), 1, units=(2,)), likelihood="gaussian"),
    }  # fmt: skip


class Printed(doctest.OutputChecker):
    """An example without an expected output has to run; one with it has to print it."""

    def check_output(self, want, got, flags):
        return not want or super().check_output(want, got, flags)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name, monkeypatch):
    monkeypatch.chdir(REPOSITORY)
    module = importlib.import_module(f"stochlwta_tf.{name}")
    given = {**namespace(), **vars(module)}
    runner = doctest.DocTestRunner(Printed(), verbose=False, optionflags=doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE)
    found = [test for test in doctest.DocTestFinder().find(module, globs=given) if test.examples]
    for test in found:
        if test.name.removeprefix("stochlwta_tf.") not in SKIPPED:
            printed = []
            runner.run(test, out=printed.append)
            assert "".join(printed) == ""
    assert found


def test_what_is_not_run_is_there():
    for name in NOT_RUN | SKIPPED:
        module, _, function = name.rpartition(".") if name in SKIPPED else (name, "", "__doc__")
        assert hasattr(importlib.import_module(f"stochlwta_tf.{module}"), function), name


def test_the_readmes_code_runs_from_top_to_bottom(tmp_path, monkeypatch):
    code = [code for _, code in blocks("README.md", "python")]
    for path in {tmp_path / path for path in re.findall(r'"([^"]+\.keras)"', "".join(code))}:  # runs that a reader has made
        path.parent.mkdir(parents=True, exist_ok=True)
        learners.StochLWTA(networks.dense_lwta((1,), 1, blocks=(2,)), likelihood="gaussian", inner_steps=1).save(path)
    monkeypatch.chdir(tmp_path)
    x = np.linspace(-5.0, 5.0, 10)[:, None]
    given = {"support_x": x[:5], "support_y": np.sin(x[:5]), "query_x": x}
    for block in code:
        exec(compile(block, "README.md", "exec"), given)
    assert code


def test_the_code_of_the_page_on_uncertainty_runs():
    given = {}
    for _, code in blocks("docs/uncertainty.md", "python"):
        exec(compile(code, "uncertainty.md", "exec"), given)
    assert given["prediction"].draws.shape == (4, 2, 1)


COMMANDS = {"stochlwta-train": train.main, "stochlwta-predict": predict.main}
TUTORIAL, LENGTH = "docs/tutorial.md", "iterations = 300"


def run_the_tutorial(iterations=None):
    """All blocks of the tutorial, in the working directory; with another number of iterations than its own, if one is given."""
    found = blocks(TUTORIAL, "python", "bash")
    assert sum(code.count(LENGTH) for _, code in found) == 1
    given = {}
    for language, code in found:
        if language == "bash":
            command, *arguments = code.split()
            assert COMMANDS[command](arguments) == 0, code
        else:
            code = code if iterations is None else code.replace(LENGTH, f"iterations = {iterations}")
            exec(compile(code, TUTORIAL, "exec"), given)
    return given


def test_the_tutorial_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = run_the_tutorial(iterations=2)
    assert given["prediction"].mutual_information.shape == (25,)
    assert len((tmp_path / "labels.csv").read_text().splitlines()) == 13


@pytest.mark.slow
def test_the_tutorial_learns_what_it_says(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    given = run_the_tutorial()
    result = json.loads((tmp_path / "runs" / "shapes-seed0" / "evaluation.json").read_text())
    assert result["measures"]["accuracy"]["value"] > 70
    assert given["classifier"].score(given["queries"], given["truth"]) > 0.8
    at_points, elsewhere = given["spread"]
    assert at_points < elsewhere / 2


@pytest.fixture
def notebook():
    nbformat = pytest.importorskip("nbformat")
    return nbformat.read(REPOSITORY / "docs" / "tutorial.ipynb", as_version=4)


def test_the_notebook_is_the_tutorial(notebook):
    jupytext = pytest.importorskip("jupytext")
    made = jupytext.read(REPOSITORY / TUTORIAL)
    same = [(cell.cell_type, cell.source) for cell in made.cells] == [(cell.cell_type, cell.source) for cell in notebook.cells]
    assert same, "make it again: jupytext --to ipynb docs/tutorial.md"
    assert not any(cell.get("outputs") or cell.get("execution_count") for cell in notebook.cells)


@pytest.mark.slow
def test_the_notebook_runs(notebook, tmp_path, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # where the commands are
    for cell in notebook.cells:
        cell.source = cell.source.replace(LENGTH, "iterations = 2")
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(tmp_path)}}).execute()
    assert (tmp_path / "labels.csv").exists()


#: The programs with the arguments that make them short.
PROGRAMS = {
    "active_learning": "--tasks 2 --queries 1",
    "arrays_in_memory": "--iterations 2 --tasks 20",
    "calibration": "--tasks 20",
    "sinusoid_uncertainty": "--iterations 2 --out curve.png",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert runpy.run_path(str(REPOSITORY / "examples" / f"{name}.py"))["main"](PROGRAMS[name].split())


def test_all_programs_are_run_and_listed():
    found = {path.stem for path in (REPOSITORY / "examples").glob("*.py")}
    assert found == set(PROGRAMS)
    listed = (REPOSITORY / "examples" / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.py)" in listed for name in found)


def test_files_that_documents_name_exist():
    places = (REPOSITORY, PACKAGE)
    for document in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for name in re.findall(r"`((?:[\w.]+/)+(?:\w+\.py)?)`", text):
            if name.split("/")[0] in ("tests", "benchmarks", ".ci", "docs", *(folder.name for folder in PACKAGE.iterdir())):
                assert any((place / name).exists() for place in places), f"{document.name}: {name}"
