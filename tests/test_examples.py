"""The examples of docstrings, the README and the documentation run, and print what they are said to print."""

import doctest
import importlib
import re
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import layers, learners, networks, objectives, tasks
from stochlwta_tf.config import configuration, suites
from stochlwta_tf.report import collect
from tests.helpers import REPOSITORY

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
    code = re.findall(r"^```python\n(.*?)^```", (REPOSITORY / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    for path in {tmp_path / path for path in re.findall(r'"([^"]+\.keras)"', "".join(code))}:  # runs that a reader has made
        path.parent.mkdir(parents=True, exist_ok=True)
        learners.StochLWTA(networks.dense_lwta((1,), 1, blocks=(2,)), likelihood="gaussian", inner_steps=1).save(path)
    monkeypatch.chdir(tmp_path)
    x = np.linspace(-5.0, 5.0, 10)[:, None]
    given = {"support_x": x[:5], "support_y": np.sin(x[:5]), "query_x": x}
    for block in code:
        exec(compile(block, "README.md", "exec"), given)
    assert code


def test_files_that_documents_name_exist():
    places = (REPOSITORY, PACKAGE)
    for document in [REPOSITORY / "README.md", *sorted((REPOSITORY / "docs").glob("*.md"))]:
        text = re.sub(r"^```.*?^```", "", document.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for name in re.findall(r"`((?:[\w.]+/)+(?:\w+\.py)?)`", text):
            if name.split("/")[0] in ("tests", "benchmarks", ".ci", "docs", *(folder.name for folder in PACKAGE.iterdir())):
                assert any((place / name).exists() for place in places), f"{document.name}: {name}"
