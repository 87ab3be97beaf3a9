"""The package as a whole: imports run downward, importing it registers its classes, the wheel has every package."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest
from setuptools import find_packages

import stochlwta_tf

ROOT = Path(stochlwta_tf.__file__).parent.parent

#: Each imports from those above it only; what stands on one line does not import from its neighbours.
FLOORS = (
    ("errors", "intervals", "measures", "memory", "programs", "progress", "registry"),
    ("metrics", "random"),
    ("layers",),
    ("networks", "objectives"),
    ("tasks",),
    ("learners",),
    ("config",),
    ("training", "paper"),
    ("figures", "inference"),
    ("evaluation",),
    ("report", "sklearn"),
    ("cli",),
)
FLOOR = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}


def imports_of(path):
    """The rooms that a file imports from, wherever in it; what is imported for type checkers alone does not count."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in [n for n in ast.walk(tree) if isinstance(n, ast.If) and getattr(n.test, "id", None) == "TYPE_CHECKING"]:
        node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module == "stochlwta_tf":
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("stochlwta_tf."):
            yield node.module.split(".")[1]
        elif isinstance(node, ast.Import):
            yield from (alias.name.split(".")[1] for alias in node.names if alias.name.startswith("stochlwta_tf."))


def test_imports_run_downward():
    upward, rooms = [], set()
    for path in sorted((ROOT / "stochlwta_tf").rglob("*.py")):
        room = path.relative_to(ROOT / "stochlwta_tf").with_suffix("").parts[0]
        if room == "__init__":
            continue
        rooms.add(room)
        upward += [f"{path.name}: {other}" for other in imports_of(path) if other != room and FLOOR[other] >= FLOOR[room]]
    assert not upward
    assert rooms == set(FLOOR)


FIRST = ["import keras, stochlwta_tf", "import stochlwta_tf, keras", "from stochlwta_tf.layers import InputScale\nimport keras"]


@pytest.mark.slow  # one of them loads a saved learner in tests/learners/test_learner.py
@pytest.mark.parametrize("first", FIRST)
def test_classes_are_registered_whichever_import_comes_first(first):
    program = f"{first}\nprint(sorted(n for n in keras.saving.get_custom_objects() if n.startswith('stochlwta_tf>')))"
    names = ast.literal_eval(subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True).stdout)
    assert {"stochlwta_tf>MAML", "stochlwta_tf>StochasticLWTA", "stochlwta_tf>Gaussian", "stochlwta_tf>StochLWTA"} <= set(names)


def test_every_package_is_in_the_wheel():
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    listed = re.findall(r'"(stochlwta_tf[\w.]*)"', re.search(r"^packages = \[(.*?)\]", text, re.S | re.M)[1])
    found = find_packages(ROOT, include=["stochlwta_tf", "stochlwta_tf.*"])
    assert sorted(listed) == sorted([*found, "stochlwta_tf.configs", "stochlwta_tf.models"])
