"""Disks that are full, read-only or damaged, two trainings in one folder, and numbers that are none."""

import os
import random
import shutil
import signal
import subprocess
import sys

import pytest

from tests.faults.runs import LAST, differences, outcome, rows, until
from tests.helpers import REPOSITORY

pytestmark = pytest.mark.faults


@pytest.mark.parametrize("size", [0, 1000, 2000, 20000])
def test_no_file_may_grow(server, place, out, finish, one_line, size):
    """As on a full disk: config.yaml, metrics.csv, a checkpoint, the best weights or the model cannot be written."""
    message = one_line(server.start(["--config", place / "maml.yaml", "--out", out], ["file_size", {"size": size}]))
    assert f"{out}" in message and "cannot be written: File too large. What was written before is kept." in message
    finish("maml", out)


@pytest.mark.parametrize(("event", "number"), [("a file takes its place", 3), ("a flush to the disk", 9), ("the model", 1)])
def test_a_disk_that_fills_up(server, place, out, finish, one_line, event, number):
    sabotage = ["full_disk", {"event": event, "number": number}]
    message = one_line(server.start(["--config", place / "maml.yaml", "--out", out], sabotage))
    assert "cannot be written: No space left on device. What was written before is kept." in message
    finish("maml", out)


SMALL_DISK = """
mount -t tmpfs -o size=$1 none "$2" || exit 77
"$3" -m stochlwta_tf.cli.train --config "$4" --out "$2/run"
test $? = 2 || exit 1
mount -o remount,size=50m "$2"
"$3" -m stochlwta_tf.cli.train --resume --config "$4" --out "$2/run" || exit 1
cp -r "$2/run" "$5"
"""


def test_a_small_disk(place, out, whole, count):
    """A file system of 60 kB, later larger."""
    (out.parent / "disk").mkdir()
    arguments = ["60k", out.parent / "disk", sys.executable, place / "maml.yaml", out]
    command = ["unshare", "-Urm", "sh", "-c", SMALL_DISK, "sh", *arguments]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    try:
        process = subprocess.run(list(map(str, command)), capture_output=True, text=True, env=environment)
    except FileNotFoundError:
        pytest.skip("there is no unshare")
    if process.returncode == 77 or process.stderr.startswith("unshare:"):
        pytest.skip("file systems cannot be mounted here")
    assert process.returncode == 0, process.stderr
    errors = [line for line in process.stderr.splitlines() if line.startswith("error: ")]
    assert len(errors) == 1 and "cannot be written: No space left on device" in errors[0], process.stderr
    assert "Traceback" not in process.stderr
    count("one_line")
    assert differences(outcome(out), whole("maml").outcome) == []
    count("bit_equal")


def test_a_folder_that_is_read_only(server, place, out, half, whole, finish, one_line):
    out.parent.chmod(0o555)
    message = one_line(server.start(["--config", place / "maml.yaml", "--out", out], ["no_rights", {}]))
    assert message == f"error: {out}: cannot be written: Permission denied. What was written before is kept."
    out.parent.chmod(0o755)
    shutil.copytree(half("maml"), out)
    for folder in (out, out / "checkpoints", out / "tensorboard"):
        folder.chmod(0o555)
    message = one_line(server.start(["--resume", "--out", out], ["no_rights", {}]))
    assert "cannot be written: Permission denied. What was written before is kept." in message
    for folder in (out, out / "checkpoints", out / "tensorboard"):
        folder.chmod(0o755)
    finish("maml", out)


def cut(data, values):
    return data[: values.randrange(len(data))]


def flip(data, values):
    place = values.randrange(len(data) * 3 // 4)  # at the end of an index there is padding, which means nothing
    return data[:place] + bytes([data[place] ^ 1 << values.randrange(8)]) + data[place + 1 :]


@pytest.mark.parametrize("damage", [cut, flip])
@pytest.mark.parametrize("part", ["index", "data-00000-of-00001"])
def test_the_newest_checkpoint_is_damaged(half, out, finish, damage, part):
    shutil.copytree(half("maml"), out)
    path = out / "checkpoints" / f"ckpt-200.{part}"
    path.write_bytes(damage(path.read_bytes(), random.Random(0)))
    said = [line for line in finish("maml", out) if "ckpt-200" in line]
    assert said == [f"{path.parent}: ckpt-200 cannot be restored; resuming from ckpt-180, the newest intact checkpoint."]


@pytest.mark.parametrize(
    "name", ["checkpoints/checkpoint", "checkpoints/ckpt-200.index", "checkpoints/ckpt-200.data-00000-of-00001", "environment.json"]
)
def test_a_power_cut_left_an_empty_file_that_is_not_needed(half, out, finish, name):
    shutil.copytree(half("maml"), out)
    (out / name).write_bytes(b"")
    assert any((out / name).parent.name in line for line in finish("maml", out))


@pytest.mark.parametrize("name", ["model.keras", "evaluation.json", "predictions.png"])
def test_a_power_cut_left_an_empty_result(whole, out, finish, name):
    shutil.copytree(whole("maml").folder, out)
    (out / name).write_bytes(b"")
    finish("maml", out)
    assert (out / name).stat().st_size


@pytest.mark.parametrize(
    ("run", "name", "message"),
    [
        ("maml", "config.yaml", "config.yaml: must hold keys and values"),
        (
            "maml",
            "metrics.csv",
            "metrics.csv: missing or damaged from iteration 20 on, but the checkpoint is of iteration 200, and training.keep",
        ),
        (
            "images",
            "metrics.csv",
            "metrics.csv: missing or damaged from iteration 20 on, but the checkpoint is of iteration 200, and protocol orig",
        ),
        ("maml", "best.weights.h5", "best.weights.h5: missing or damaged, but iteration "),
        (
            "images",
            "data.json",
            "data.json: the record of the training data cannot be read; restore it, or delete it to use the current data.",
        ),
    ],
)
def test_a_power_cut_left_an_empty_file_that_is_needed(server, half, out, finish, one_line, run, name, message):
    shutil.copytree(half(run), out)
    kept = {p: p.read_bytes() for p in out.rglob("*") if p.is_file() and not p.name.startswith(("environment", "events"))}
    (out / name).write_bytes(b"")
    assert message in one_line(server.start(["--resume", "--out", out]))
    assert {p: p.read_bytes() for p in kept if p != out / name} == {p: data for p, data in kept.items() if p != out / name}
    (out / name).write_bytes(kept[out / name])
    finish(run, out)


def test_rows_that_only_tell_are_lost_alone(half, out, finish):
    shutil.copytree(half("stochlwta"), out)
    (out / "metrics.csv").write_bytes(b"")
    said = finish("stochlwta", out, ignoring=["metrics"])
    assert any(line.endswith("its numbers are lost, the weights are not affected.") for line in said)
    assert rows(out) == 10


def test_two_trainings_in_one_folder(server, place, out, finish, one_line):
    command = ["--config", place / "maml.yaml", "--out", out]
    first = server.start(command)
    until(lambda: rows(out) > 2, first)
    first.send(signal.SIGSTOP)
    try:
        assert "another process is training here" in one_line(server.start([*command, "--resume"]))
        assert "already contains a run" in one_line(server.start(command))
    finally:
        first.send(signal.SIGCONT)
    assert first.wait() == 0, first.errors()
    finish("maml", out)


def test_two_trainings_that_start_at_once(server, place, out, finish):
    command = ["--config", place / "maml.yaml", "--out", out]
    both = [server.start(command) for _ in range(2)]
    assert sorted(child.wait() for child in both) == [0, 2]
    loser = next(child for child in both if child.wait() == 2)
    assert sum(line.startswith("error: ") for line in loser.errors()) == 1 and "Traceback" not in "".join(loser.errors())
    finish("maml", out)


@pytest.mark.parametrize("iteration", [20, 200])
def test_a_weight_becomes_nan(server, place, out, finish, one_line, iteration):
    child = server.start(["--config", place / "maml.yaml", "--out", out], ["not_a_number", {"iteration": iteration}])
    message = one_line(child, status=3)
    assert f"not finite at iteration {iteration} (seed 0): task 0" in message
    assert message.endswith(f"The last good checkpoint is {out}/checkpoints/ckpt-{iteration}.")
    assert not (out / "model.keras").exists() and iteration < LAST
    finish("maml", out)
