"""The examples of docstrings run, and print what they are said to print."""

import doctest
import importlib
from pathlib import Path

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import layers, learners, networks, objectives, tasks
from stochlwta_tf.config import configuration, suites
from stochlwta_tf.report import collect, result_files, tables
from tests.helpers import REPOSITORY

PACKAGE = REPOSITORY / "stochlwta_tf"
#: Their examples train for long, or need a data set, a finished run or a folder of the reader's.
NOT_RUN = {
    "cli.suite_runner", "evaluation.evaluate", "evaluation.uncertainty", "inference.load", "inference.pictures", "sklearn",
    "tasks.augmentation", "tasks.cache", "tasks.cifar100", "tasks.duplicates",
    "tasks.glyphs", "tasks.image_folder", "tasks.miniimagenet", "tasks.miniimagenet_builder", "tasks.miniimagenet_layouts",
    "tasks.omniglot", "tasks.picture_files", "tasks.safe_pickle", "tasks.tfds_source", "training.data_record", "training.run_folder",
    *(f"learners.{path.stem}" for path in (PACKAGE / "learners").glob("*.py") if path.stem not in ("stein", "task_runner")),
}  # fmt: skip
#: The same, one by one, in modules whose other examples run.
SKIPPED = {
    "evaluation.measured.tested",
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
        "configuration": configuration, "collect": collect, "tables": tables, "Measure": result_files.Measure,
        "images": images, "labels": labels, "bank": bank, "tasks": distribution, "support_x": points, "query_x": points[:2],
        "particles": tf.constant(points), "maml": learners.MAML(networks.mlp((3,), 1, units=(2,)), likelihood="gaussian"),
    }  # fmt: skip


class Printed(doctest.OutputChecker):
    """An example without an expected output has to run; one with it has to print it."""

    def check_output(self, want, got, flags):
        return not want or super().check_output(want, got, flags)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module(name, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path if name.startswith("figures.") else REPOSITORY)  # those draw files, others read `configs`
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
