"""The names of the commands, in a checkout and installed."""

import sys

import pytest

from stochlwta_tf import programs


@pytest.mark.parametrize(
    ("started", "script", "name", "words"),
    [
        ("train.py", "evaluate.py", "evaluate.py", ["python", "evaluate.py", "--x"]),
        ("/usr/bin/stochlwta-evaluate", "train.py", "stochlwta-train", ["stochlwta-train", "--x"]),
        ("/usr/bin/stochlwta-timing", "python -m stochlwta_tf.cli.timing", "stochlwta-timing", ["stochlwta-timing", "--x"]),
        ("C:/stochlwta-train.exe", "train.py", "stochlwta-train", ["stochlwta-train", "--x"]),
    ],
)
def test_an_installed_command_names_installed_commands(monkeypatch, started, script, name, words):
    monkeypatch.setattr(sys, "argv", [started])
    assert programs.program(script) == name and programs.words(script, "--x") == words
