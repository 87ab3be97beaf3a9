"""The code of the README, the documentation and its notebook, and the programs of `examples/` run; files that they name exist."""

import json
import os
import re
import runpy
import sys
from pathlib import Path

import numpy as np
import pytest

from stochlwta_tf import learners, networks
from stochlwta_tf.cli import predict, train
from tests.helpers import REPOSITORY
from tests.helpers.documents import blocks


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


@pytest.mark.slow
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


@pytest.fixture
def empty_folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.slow
def test_the_tutorial_runs(empty_folder):
    given = run_the_tutorial(iterations=2)
    assert given["prediction"].mutual_information.shape == (25,)
    assert len((empty_folder / "labels.csv").read_text().splitlines()) == 13


@pytest.mark.slow
def test_the_tutorial_learns_what_it_says(empty_folder):
    given = run_the_tutorial()
    result = json.loads((empty_folder / "runs" / "shapes-seed0" / "evaluation.json").read_text())
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
def test_the_notebook_runs(notebook, empty_folder, monkeypatch):
    nbclient = pytest.importorskip("nbclient")
    pytest.importorskip("ipykernel")
    monkeypatch.setenv("PYTHONPATH", str(REPOSITORY))
    monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")  # where the commands are
    for cell in notebook.cells:
        cell.source = cell.source.replace(LENGTH, "iterations = 2")
    nbclient.NotebookClient(notebook, timeout=600, resources={"metadata": {"path": str(empty_folder)}}).execute()
    assert (empty_folder / "labels.csv").exists()


#: The programs with the arguments that make them short.
PROGRAMS = {
    "active_learning": "--tasks 2 --queries 1",
    "arrays_in_memory": "--iterations 2 --tasks 20",
    "calibration": "--tasks 20",
    "draw_pictures": "pictures --classes 2 --images 2",
    "sinusoid_uncertainty": "--iterations 2 --out curve.png",
}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow) if n in ("arrays_in_memory", "sinusoid_uncertainty") else n for n in PROGRAMS]
)
def test_programs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(REPOSITORY / "examples" / f"{name}.py"))["main"](PROGRAMS[name].split())


def test_all_programs_are_run_and_listed():
    found = {path.stem for path in (REPOSITORY / "examples").glob("*.py")}
    assert found == set(PROGRAMS)
    listed = (REPOSITORY / "examples" / "README.md").read_text(encoding="utf-8")
    assert all(f"({name}.py)" in listed for name in found)


def test_files_that_documents_name_exist():
    package = REPOSITORY / "stochlwta_tf"
    for document in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").rglob("*.md"))]:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for name in re.findall(r"`((?:[\w.]+/)+(?:\w+\.py)?)`", text):
            if name.split("/")[0] in ("tests", "benchmarks", ".ci", "docs", *(folder.name for folder in package.iterdir())):
                assert any((place / name).exists() for place in (REPOSITORY, package)), f"{document.name}: {name}"
