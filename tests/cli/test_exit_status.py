"""How a command ends on any console and in any thread: what it cannot print is replaced, and no mistake is a traceback."""

import concurrent.futures
import io
import os
import signal
import subprocess
import sys

import pytest

from stochlwta_tf.cli.exit_status import any_console, exit_status, stoppable
from stochlwta_tf.errors import UserError


@pytest.mark.parametrize(
    ("encoding", "printed"), [("cp1252", "learned noise ? ± 1"), ("ascii", "learned noise ? ? 1"), ("gbk", "learned noise σ ± 1")]
)
def test_what_a_console_lacks_is_replaced(monkeypatch, encoding, printed):
    console = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    monkeypatch.setattr(sys, "stdout", console)
    any_console()
    assert exit_status(lambda: print("learned noise σ ± 1", end="")) == 0
    console.flush()
    assert console.buffer.getvalue().decode(encoding) == printed


def test_a_name_that_is_not_text_can_be_printed(monkeypatch):
    console = io.TextIOWrapper(io.BytesIO(), encoding="utf-8")
    monkeypatch.setattr(sys, "stdout", console)
    any_console()
    assert exit_status(lambda: print(os.fsdecode(b"caf\xe9"), end="")) == 0
    console.flush()
    assert console.buffer.getvalue() == b"caf?"


def test_help_is_printed_on_any_console():
    for module in ("train", "evaluate", "timing", "duplicates"):
        command = [sys.executable, "-m", f"stochlwta_tf.cli.{module}", "--help"]
        subprocess.run(command, env={**os.environ, "PYTHONIOENCODING": "ascii"}, stdout=subprocess.DEVNULL, check=True)


def test_a_command_in_another_thread_leaves_the_signals_alone():
    def command():
        with stoppable("stopped"):
            return signal.getsignal(signal.SIGTERM)

    before = signal.getsignal(signal.SIGTERM)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        assert pool.submit(command).result() == before
    with stoppable("stopped"):
        assert signal.getsignal(signal.SIGTERM) != before
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_file_that_cannot_be_used_is_one_line(tmp_path, capsys):
    assert exit_status((tmp_path / "none").read_bytes) == 2
    assert capsys.readouterr().err == f"error: {tmp_path / 'none'}: No such file or directory.\n"


def test_a_user_error_is_one_line(capsys):
    def command():
        raise UserError("task.way must be 5. Received: 3.")

    assert exit_status(command) == 2
    assert capsys.readouterr().err == "error: task.way must be 5. Received: 3.\n"


def test_a_reader_that_closes_early_ends_the_command_quietly():
    program = """
import sys
from stochlwta_tf.cli.exit_status import exit_status
sys.exit(exit_status(lambda: [print("x" * 100) for _ in range(100_000)]))
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process.stdout.readline()
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait() == 128 + signal.SIGPIPE
