"""Starting a command: what needs no TensorFlow does without it, and TensorFlow's chatter stays off the terminal."""

import os
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import pytest

import stochlwta_tf

ROOT = Path(stochlwta_tf.__file__).parent.parent


def run(*arguments, **environment):
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path, **environment}
    environment = {name: value for name, value in environment.items() if value is not None}
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, env=environment, check=False)


LOADED = """
import runpy, sys
sys.argv = sys.argv[1:]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as stop:
    print("status", stop.code)
print("loaded", [name for name in ("tensorflow", "keras", "matplotlib", "scipy") if name in sys.modules])
"""


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["train.py", "--help"], 0),
        (["evaluate.py", "--help"], 0),
        (["train.py", "--config", "nope.yaml"], 2),
        (["train.py", "--config", "sinusoid_default", "--set", "seed"], 2),
        (["train.py", "--suite", "nope"], 2),
        (["evaluate.py", "--run", "nope"], 2),
    ],
)
def test_what_is_wrong_with_a_command_is_said_without_tensorflow(command, status):
    script, *rest = command
    printed = run("-c", LOADED, ROOT / script, *rest).stdout
    assert f"status {status}\nloaded []" in printed


def test_a_configuration_that_is_not_there_names_the_folders_searched(tmp_path):
    process = subprocess.run(
        [sys.executable, ROOT / "train.py", "--config", "sinusoid_defualt"], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert process.stderr == (
        f"error: sinusoid_defualt: cannot read the configuration: not found in ., {ROOT / 'configs'}. Did you mean 'sinusoid_default'?\n"
    )


def test_another_backend_is_one_line():
    process = run(ROOT / "train.py", "--config", ROOT / "configs/sinusoid_default.yaml", KERAS_BACKEND="jax")
    assert (process.returncode, process.stderr) == (2, "error: KERAS_BACKEND must be tensorflow. Received: KERAS_BACKEND=jax.\n")


START = """
import os
from stochlwta_tf.cli import start
start.tensorflow()
import tensorflow as tf
tf.function(lambda x: x + 1, jit_compile=True)(tf.ones(3))
os.write(2, b"E0000 00:00:00.000000 file.cc:1] a real failure\\n")
import stochlwta_tf.figures.style
"""


@pytest.mark.skipif(version("tensorflow") < "2.20", reason="earlier releases of TensorFlow say the same again when XLA starts")
def test_the_chatter_of_tensorflows_start_stays_off_the_terminal():
    process = run("-c", START, TF_CPP_MIN_LOG_LEVEL=None, MPLBACKEND="module://a_notebooks.backend")  # which figures do without
    assert (process.returncode, process.stderr) == (0, "E0000 00:00:00.000000 file.cc:1] a real failure\n")


def test_what_is_said_amid_the_start_passes_the_filter_unless_it_is_chatter():
    program = """
import os
from stochlwta_tf.cli import start
with start._filtered():
    for line in (
        b"I0000 00:00:1.5 1 port.cc:153] oneDNN",
        b"E0000 00:00:1.5 1 a.cc:1] cannot go on",
        b"E0000 00:00:1.5 1 a.cc:1] failed call to cuInit: no",
    ):
        os.write(2, line + b"\\n")
    os.abort()
"""
    process = run("-c", program)
    assert process.returncode < 0
    assert process.stderr == "E0000 00:00:1.5 1 a.cc:1] cannot go on\n"
