"""Commands that are called in this process, and a run to test with them."""

import pytest
import yaml

from tests.helpers.untrained_runs import untrained

TINY = {
    "name": "tiny",
    "task": {"name": "sinusoid", "train_queries": 0},
    "network": {"name": "mlp", "units": [4]},
    "learner": {"name": "reptile", "inner_steps": 1},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "training": {"iterations": 100, "meta_batch_size": 4},
    "evaluation": {"tasks": 10, "batch": 4},
}


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    """A run folder as after training, of a learner with fresh weights."""
    return untrained(TINY, tmp_path_factory.mktemp("runs") / "tiny")


@pytest.fixture
def here(tmp_path, monkeypatch):
    """The working directory: a folder with `tiny.yaml`, and nothing else when a command is refused."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    return tmp_path


@pytest.fixture
def refused(capfd):
    """`refused(main, arguments)`: the line of an error that ends a command with status 2."""

    def check(main, arguments):
        capfd.readouterr()
        try:
            status = main(arguments)
        except SystemExit as stop:  # argparse, whose line follows the usage
            status, lines = stop.code, capfd.readouterr().err.splitlines()
            lines = [line for line in lines if not line.startswith(("usage:", " "))]
        else:
            lines = capfd.readouterr().err.splitlines()
        assert status == 2
        assert len(lines) == 1 and "error: " in lines[0], lines
        assert len(lines[0]) < 700
        return lines[0]

    return check
