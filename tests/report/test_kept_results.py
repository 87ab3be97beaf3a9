"""The results that are kept: made by committed code, and by commands that can be typed anywhere."""

import json

import pytest

from tests.helpers import REPOSITORY

ENVIRONMENTS = sorted((REPOSITORY / "results").rglob("environment.json"))


@pytest.mark.parametrize("path", ENVIRONMENTS, ids=lambda path: path.parent.name)
def test_a_kept_run_is_of_a_clean_tree_and_names_no_machine(path):
    for start in json.loads(path.read_text(encoding="utf-8")):
        assert len(start["git"]) == 40, f"not a commit: {start['git']}"  # "-dirty" would follow it
        assert not any(word.startswith("/") for word in start["command"].replace("=", " ").split()), start["command"]


def test_there_are_kept_runs():
    assert len(ENVIRONMENTS) > 10
