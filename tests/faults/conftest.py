"""Trainings to break: the uninterrupted ones, made once, and processes that make others."""

import shutil
import tempfile
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.faults.runs import outcome, rows, until, write_configs
from tests.faults.server import Server


@pytest.fixture(scope="session")
def place():
    """A folder that another user may read, as pytest's own may not be."""
    folder = Path(tempfile.mkdtemp(prefix="faults-"))
    folder.chmod(0o755)
    write_configs(folder)
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def server(place):
    with Server(place) as running:
        yield running


@pytest.fixture(scope="session")
def whole(server, place):
    """`whole("maml")`: the uninterrupted training: its `folder`, its `outcome`, and the seconds to its first row and to its end."""
    made = {}

    def run(name):
        if name not in made:
            folder, start = place / f"whole-{name}", time.monotonic()
            child = server.start(["--config", place / f"{name}.yaml", "--out", folder])
            until(lambda: rows(folder), child)
            first = time.monotonic() - start
            until(lambda: (folder / "model.keras").exists(), child)
            trained = time.monotonic() - start
            assert child.wait() == 0, child.errors()
            end = time.monotonic() - start
            made[name] = SimpleNamespace(folder=folder, outcome=outcome(folder), first=first, test=end - trained, end=end)
        return made[name]

    return run


@pytest.fixture(scope="session")
def half(server, place):
    """`half("maml")`: the folder of a training killed after its checkpoint of iteration 200."""
    made = {}

    def run(name):
        if name not in made:
            made[name] = place / f"half-{name}"
            kill = {"event": "the list of checkpoints", "number": 20, "when": "after"}  # each checkpoint writes it twice
            child = server.start(["--config", place / f"{name}.yaml", "--out", made[name]], ["kill_at", kill])
            assert child.wait() == -9, child.errors()
        return made[name]

    return run


@pytest.fixture
def out(place, request):
    """A path for a run, which does not exist."""
    path = Path(tempfile.mkdtemp(dir=place)) / "run"
    path.parent.chmod(0o755)
    yield path
    shutil.rmtree(path.parent, ignore_errors=True)


@pytest.fixture
def count(record_property):
    """`count("kills")` counts for the summary of `pytest -m faults`."""
    return lambda name, number=1: record_property("faults", [name, number])


@pytest.fixture
def finish(server, whole, place, count):
    """`finish("maml", out)` resumes a training to its end, which must be the uninterrupted one's; returns what it said."""
    from tests.faults.runs import differences

    def resume(name, folder, ignoring=()):
        child = server.start(["--config", place / f"{name}.yaml", "--resume", "--out", folder])
        assert child.wait() == 0, child.errors()
        assert [key for key in differences(outcome(folder), whole(name).outcome) if key not in ignoring] == []
        count("bit_equal")
        return child.errors()

    return resume


@pytest.fixture
def one_line(count):
    """`one_line(child)`: the message of a command that must have ended with one line and status 2 (or another)."""

    def check(child, status=2):
        assert child.wait() == status, child.errors()
        errors = [line for line in child.errors() if line.startswith("error: ")]
        assert len(errors) == 1 and not any("Traceback" in line for line in child.errors()), child.errors()
        count("one_line")
        return errors[0]

    return check
