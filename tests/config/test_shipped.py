"""The shipped configurations."""

import hashlib
import json
from pathlib import Path

import pytest
import yaml

from stochlwta_tf.config import configuration
from tests.helpers import REPOSITORY

FOLDER = REPOSITORY / "configs"
CONFIGS = sorted(FOLDER.glob("*.yaml"))
PARTS = sorted(FOLDER.glob("parts/**/*.yaml"))
HASHES = REPOSITORY / "tests" / "data" / "resolved_configurations.json"


RECOMMENDED = sorted((FOLDER / "recommended").glob("*.yaml"))


@pytest.mark.parametrize("path", RECOMMENDED, ids=lambda p: p.stem)
def test_recommended_configurations_are_valid_and_predict_each_query_by_itself(path):
    config = configuration.load(f"recommended/{path.name}")
    assert config.learner.batch_statistics == "support" and config.training.keep_best
    assert config.name in (path.stem, f"{path.stem}_recommended")


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_shipped_configurations_are_valid_and_named_for_their_files(path):
    config = configuration.load(path)
    assert config.name == path.stem


def resolved_hash(path):
    """A short SHA-256 of every key with its value, whatever their order in the files."""
    return hashlib.sha256(json.dumps(configuration.load(path).resolved(), sort_keys=True).encode()).hexdigest()[:16]


def test_no_shipped_configuration_means_something_else_than_before():
    # Kept runs name these files: a change of a value is deliberate, and then `python -m
    # tests.config.test_shipped` writes the hashes again.
    now, before = {path.stem: resolved_hash(path) for path in CONFIGS}, json.loads(HASHES.read_text())
    assert sorted(now) == sorted(before)
    assert [name for name in now if now[name] != before[name]] == []


@pytest.mark.parametrize("path", CONFIGS, ids=lambda p: p.stem)
def test_a_shipped_configuration_is_a_list_of_parts_and_its_own_changes(path):
    values = yaml.safe_load(path.read_text())
    rooms = [Path(part).parts[:2] for part in values["extends"]]
    assert rooms[:3] == [("parts", "task"), ("parts", "setting"), ("parts", "network")]
    assert set(rooms[3:]) <= {("parts", "network"), ("parts", "training"), ("parts", "method")} and ("parts", "method") in rooms


def test_parts_extend_nothing_and_each_is_used():
    assert not [path for path in PARTS if yaml.safe_load(path.read_text()).keys() & {"extends", "name", "seed"}]
    used = {FOLDER / part for path in CONFIGS for part in yaml.safe_load(path.read_text())["extends"]}
    assert used == set(PARTS)


def test_the_papers_settings_are_in_the_shipped_configuration():
    config = configuration.load(REPOSITORY / "configs" / "omniglot_20w1s.yaml")
    assert (config.network.blocks, config.network.competitors, config.network.temperature) == ((16, 8), 2, 0.67)
    assert (config.learner.inner_lr, config.learner.inner_loss, config.learner.draws) == (0.003, "sum", 4)
    assert (config.optimizer.learning_rate, config.optimizer.schedule, config.optimizer.end_learning_rate) == (0.25, "linear", 0)
    assert (config.training.iterations, config.training.meta_batch_size, config.task.way, config.task.shot) == (60000, 50, 20, 1)


if __name__ == "__main__":
    HASHES.write_text(json.dumps({path.stem: resolved_hash(path) for path in CONFIGS}, indent=1) + "\n")
