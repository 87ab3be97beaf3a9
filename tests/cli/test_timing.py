"""Times of configurations, from the command line."""

import json

import pytest
import yaml

from stochlwta_tf.cli import timing
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import UserError
from stochlwta_tf.evaluation.timing import measure
from stochlwta_tf.report import collect

TINY = {
    "name": "tiny",
    "task": {"name": "sinusoid", "train_queries": 0},
    "network": {"name": "mlp", "units": [4]},
    "learner": {"name": "reptile", "inner_steps": 1},
    "optimizer": {"name": "sgd", "learning_rate": 0.01},
    "training": {"iterations": 100, "meta_batch_size": 4, "steps_per_execution": 5},
}


def test_a_suite_times_each_configuration_once_and_all_at_fifty_tasks():
    configs = timing._of_suite("table6", "timing", []).values()
    batches = {}
    for config in configs:
        batches.setdefault(config.name, []).append(config.training.meta_batch_size)
    assert all(50 in each and len(set(each)) == len(each) for each in batches.values())
    assert batches["sinusoid_default"] == [50] and batches["sinusoid_default_maml"] == [25, 50]


def test_a_configuration_without_its_data_is_passed_by(tmp_path, capsys):
    absent = {**TINY, "name": "absent", "task": {"name": "image_folder", "data_dir": str(tmp_path / "none"), "way": 2, "shot": 1}}
    configs = [configuration.from_dict({**values, "network": {"name": "mlp", "units": [4]}}) for values in (absent, TINY)]
    result = measure(configs[:1], 2, configs)
    assert "absent: skipped: task.data_dir must be a folder" in capsys.readouterr().err
    assert [(entry["config"]["name"], entry["parameters"]["trainable"]) for entry in result["entries"]] == [("tiny", 13)]
    assert "train" not in result["entries"][0]  # its parameters were asked for alone
    with pytest.raises(UserError, match="none of the configurations has its data available"):
        measure(configs[:1], 2)


def test_a_training_that_diverges_is_one_line(tmp_path, capsys):
    path = tmp_path / "diverging.yaml"
    path.write_text(yaml.safe_dump({**TINY, "name": "diverging", "learner": {"name": "reptile", "inner_lr": 1e30, "inner_steps": 3}}))
    assert timing.main(["--config", str(path), "--rounds", "2"]) == 3
    assert "error: diverging: the training that is timed diverges" in capsys.readouterr().err


@pytest.mark.slow
def test_configurations_are_timed_in_turns(tmp_path, capsys):
    paths = []
    for name, units in (("one", [4]), ("two", [8])):
        paths.append(tmp_path / f"{name}.yaml")
        paths[-1].write_text(yaml.safe_dump({**TINY, "name": name, "network": {"name": "mlp", "units": units}}))
    out = tmp_path / "results" / "timing.json"
    assert timing.main(["--config", *map(str, paths), "--rounds", "3", "--out", str(out)]) == 0
    assert "two: train " in capsys.readouterr().out
    collected = collect.read(out.parent)
    assert [(t.config.name, t.entry.parameters.trainable, t.entry.train.count) for t in collected.timings] == [
        ("one", 13, 3),
        ("two", 25, 3),
    ]
    assert all(t.entry.predict.compile_seconds > t.entry.predict.median_ms / 1000 for t in collected.timings)


@pytest.mark.slow
def test_the_rate_is_seconds_of_an_iteration(tmp_path, capsys):
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(TINY))
    assert timing.main(["--config", str(tmp_path / "tiny.yaml"), "--rate"]) == 0
    assert json.loads(capsys.readouterr().out)["seconds_per_iteration"] > 0


@pytest.mark.parametrize("options", [[], ["--suite", "table3", "--config", "a.yaml"], ["--suite", "table3", "--rate"]])
def test_what_does_not_go_together_is_a_usage_error(options):
    with pytest.raises(SystemExit) as stop:
        timing.main(options)
    assert stop.value.code == 2
