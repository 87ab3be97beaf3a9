"""The documentation site: its pages name what there is, and its reference has everything public."""

import importlib
import re
from pathlib import Path

import pytest

import stochlwta_tf
from stochlwta_tf.registry import Registry
from tests.helpers import REPOSITORY

METHODS = sorted((REPOSITORY / "docs" / "methods").glob("*.md"))
MODULES = [
    importlib.import_module(f"stochlwta_tf.{path.relative_to(REPOSITORY / 'stochlwta_tf').with_suffix('').as_posix().replace('/', '.')}")
    for room in ("learners", "layers")
    for path in sorted((REPOSITORY / "stochlwta_tf" / room).glob("*.py"))
] + [importlib.import_module(f"stochlwta_tf.{name}") for name in ("objectives", "random")]


@pytest.mark.parametrize("page", METHODS, ids=lambda page: page.stem)
def test_functions_named_beside_an_equation_exist(page):
    functions = section(page, "Equations and functions")
    named = re.findall(r"`(\w+)\.(\w+)`", functions)
    assert len(named) > 4
    places = {Path(module.__file__).stem: module for module in MODULES}
    places |= {name: value for module in MODULES for name, value in vars(module).items() if isinstance(value, type)}
    assert [f"{place}.{name}" for place, name in named if not hasattr(places.get(place), name)] == []


def section(page, title):
    return page.read_text(encoding="utf-8").split(f"## {title}\n")[1].split("\n## ")[0]


def test_the_reference_has_everything_public():
    reference = "".join(path.read_text(encoding="utf-8") for path in (REPOSITORY / "docs" / "api").glob("*.rst"))
    listed = set(re.findall(r"^.. auto\w+:: ([\w.]+)", reference, re.MULTILINE))
    public = {f"stochlwta_tf.{name}" for name in ("load", "models", "read_pictures")}
    for room in ("learners", "layers", "tasks", "evaluation"):
        module = importlib.import_module(f"stochlwta_tf.{room}")
        public |= {f"stochlwta_tf.{room}.{name}" for name in module.__all__ if not isinstance(getattr(module, name), (Registry, tuple))}
    assert public - listed == set()
    assert {name for name in listed if not is_there(name)} == set()


def is_there(name):
    """Whether a dotted name is a module or something in one."""
    place, _, last = name.rpartition(".")
    return hasattr(importlib.import_module(place) if place != "stochlwta_tf" else stochlwta_tf, last)
