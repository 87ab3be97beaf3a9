"""A training that is killed, at any moment and however often, ends as the uninterrupted one, bit for bit."""

import random
import shutil
import signal
import time

import pytest

from tests.faults.runs import rows, until

pytestmark = pytest.mark.faults
KILLS = 3  # of one training, before it may finish
CHAINS = [*(("maml", seed) for seed in range(3)), *(("stochlwta", seed) for seed in range(2)), *(("images", seed) for seed in range(2))]


def moment(values, child, folder, whole):
    """Waits for a random moment: before the first row, shortly after some row, or after the training."""
    before, kind = rows(folder), values.choices(["start", "row", "end"], [2, 7, 1])[0]
    if kind == "start" or before >= 19:  # nearly trained, no more rows to wait for
        time.sleep(values.uniform(0, whole.first))
    elif kind == "row":
        wanted = before + values.randint(1, 5)
        until(lambda: rows(folder) >= min(wanted, 19) and rows(folder) != before, child)
        time.sleep(values.uniform(0, 0.05))
    else:
        until(lambda: (folder / "model.keras").exists(), child)
        time.sleep(values.uniform(0, whole.test))
    return f"{kind}, {rows(folder)} rows"


@pytest.mark.parametrize(("name", "seed"), CHAINS)
def test_killed_three_times_at_random(server, whole, place, out, count, finish, name, seed):
    values, moments = random.Random(f"{name} {seed}"), []
    for _ in range(20):
        child = server.start(["--config", place / f"{name}.yaml", "--resume", "--out", out])
        moments.append(moment(values, child, out, whole(name)))
        child.send(signal.SIGKILL)
        if child.wait() == -signal.SIGKILL:
            count("kills")
        else:
            assert child.wait() == 0, (moments, child.errors())  # it was quicker: another one
            moments.pop()
            shutil.rmtree(out)
        assert not any("Traceback" in line for line in child.errors()), moments
        if len(moments) == KILLS:
            break
    print(moments)
    assert len(moments) == KILLS
    finish(name, out)


INSIDE = [
    ("the data of a checkpoint", 4, "before"),
    ("the data of a checkpoint", 6, "during"),
    ("the data of a checkpoint", 5, "after"),
    ("the index of a checkpoint", 3, "during"),
    ("the index of a checkpoint", 7, "after"),
    ("the list of checkpoints", 9, "before"),
    ("a flush to the disk", 20, "before"),
    ("a file takes its place", 1, "before"),  # config.yaml
    ("a file takes its place", 1, "after"),
    ("the best weights", 2, "after"),
    ("the model", 1, "before"),
    ("the model", 1, "after"),
]


@pytest.mark.parametrize(("event", "number", "when"), INSIDE)
def test_killed_inside_a_write(server, place, out, count, finish, event, number, when):
    kill = {"event": event, "number": number, "when": when, "delay": 0.0005}
    child = server.start(["--config", place / "maml.yaml", "--out", out], ["kill_at", kill])
    assert child.wait() == -signal.SIGKILL, child.errors()
    count("kills")
    finish("maml", out)


@pytest.mark.parametrize("number", [1, 8])
def test_killed_in_the_middle_of_a_row(server, place, out, count, finish, number):
    child = server.start(["--config", place / "images.yaml", "--out", out], ["kill_in_a_row", {"number": number}])
    assert child.wait() == -signal.SIGKILL, child.errors()
    assert not (out / "metrics.csv").read_bytes().endswith(b"\n")
    count("kills")
    finish("images", out)


@pytest.mark.parametrize("number", [1, 2, 3])
def test_killed_between_the_first_files(server, place, out, count, finish, number):
    """After the configuration, the record of the data, the description of the start."""
    kill = {"event": "a file takes its place", "number": number, "when": "after"}
    child = server.start(["--config", place / "images.yaml", "--out", out], ["kill_at", kill])
    assert child.wait() == -signal.SIGKILL, child.errors()
    count("kills")
    assert not any("is older" in line for line in finish("images", out))


@pytest.mark.parametrize("seed", range(2))
def test_a_signal_that_asks_is_followed_at_once(server, whole, place, out, finish, seed):
    values = random.Random(seed)
    for _ in range(2):
        child = server.start(["--config", place / "maml.yaml", "--resume", "--out", out])
        moment(values, child, out, whole("maml"))
        child.send(signal.SIGTERM)
        if child.wait() == 0:  # it was quicker
            continue
        if child.wait() == -signal.SIGTERM:  # before there was anything to say
            assert not out.exists() and not child.errors()
            continue
        assert child.wait() == 128 + signal.SIGTERM, child.errors()
        assert child.errors()[-1] == f"SIGTERM: stopped; resume with: train.py --resume --out {out}"
    finish("maml", out)
