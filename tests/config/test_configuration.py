"""Configurations, and what is said of wrong ones."""

import pytest
import yaml

from stochlwta_tf.config import configuration, identity, renamed
from stochlwta_tf.errors import ConfigurationError
from tests.helpers import REPOSITORY

SINUSOID = {
    "name": "tiny",
    "task": {"name": "sinusoid"},
    "network": {"name": "dense_lwta", "blocks": [4]},
    "learner": {"name": "stochlwta"},
    "optimizer": {"name": "sgd", "learning_rate": 0.25},
    "training": {"iterations": 8, "meta_batch_size": 4, "log_every": 4, "steps_per_execution": 2},
}


def changed(**sections):
    return {
        k: {**v, **sections.get(k, {})} if isinstance(v, dict) else sections.get(k, v)
        for k, v in {**dict.fromkeys(sections, {}), **SINUSOID}.items()
    }


def test_a_resolved_configuration_reads_back_the_same():
    config = configuration.from_dict(changed(evaluation={"draws": 7, "test_inner_steps": None}))
    assert configuration.from_dict(yaml.safe_load(config.to_yaml())).resolved() == config.resolved()
    assert config.resolved()["network"]["blocks"] == [4]
    assert config.resolved()["learner"]["inner_lr"] == 0.003  # defaults are written out, so that a later default changes nothing


def test_the_evaluation_may_override_the_learner():
    config = configuration.from_dict(changed(evaluation={"draws": 7, "test_inner_steps": None}))
    assert config.evaluation.overrides() == {"draws": 7, "test_inner_steps": None}
    assert configuration.from_dict(SINUSOID).evaluation.overrides() == {}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (changed(network={"blokcs": [4]}), "unknown key network.blokcs. Did you mean 'blocks'? Allowed: name, blocks, "),
        (changed(training={"iteration": 4}), "unknown key training.iteration. Did you mean 'iterations'?"),
        (changed(optimiser={"name": "sgd"}), "unknown key optimiser. Did you mean 'optimizer'?"),
        (
            changed(optimizer={"learning_rate": "fast"}),
            'optimizer.learning_rate must be a valid number. Received: optimizer.learning_rate="fast".',
        ),
        (changed(network={"competitors": 1}), "network.competitors must be greater than or equal to 2. Received: network.competitors=1."),
        (changed(network={"blocks": [4, 0]}), "network.blocks.1 must be greater than or equal to 1. Received: network.blocks.1=0."),
        (changed(task={"name": "glyphs", "way": 0}), "task.way must be greater than or equal to 1. Received: task.way=0."),
        (
            changed(task={"name": "omniglott"}),
            "unknown value task.name='omniglott'. Did you mean 'omniglot'? Allowed: sinusoid, omniglot, ",
        ),
        (changed(task={"name": ["glyphs"]}), "unknown value task.name=['glyphs']."),
        ({**SINUSOID, "log-every": 5}, "unknown key log-every. Did you mean "),
        (changed(learner={"inner-lr": 0.1}), "unknown key learner.inner-lr. Did you mean 'inner_lr'?"),
        ({**SINUSOID, "seed": 2**32}, "seed must be less than 4294967296. Received: seed=4294967296."),
        (changed(evaluation={"inner_batch": 5}), "unknown key evaluation.inner_batch."),  # acts in training alone
        (
            changed(learner={"learn_noise_std": True}, evaluation={"noise_std": 0.5}),
            "evaluation.noise_std cannot be combined with learner.learn_noise_std=true",
        ),
        (changed(learner={"name": 3}), "unknown value learner.name=3. Allowed: "),
        (changed(evaluation={"draws": 0}), "evaluation.draws must be greater than or equal to 1. Received: evaluation.draws=0."),
        (changed(optimizer={"name": "rmspropp"}), "unknown value optimizer.name='rmspropp'. Did you mean 'rmsprop'?"),
        ({k: v for k, v in SINUSOID.items() if k != "task"}, "task is missing. Allowed: task.name=sinusoid, "),
        ({**SINUSOID, "training": {"meta_batch_size": 4}}, "training.iterations is missing."),
        ({**SINUSOID, "task": "sinusoid"}, "task must be a section with a name: sinusoid, "),
        ({**SINUSOID, "name": "../tiny"}, "name must match pattern"),
        (
            changed(training={"log_every": 3}),
            "training.log_every must be a multiple of training.steps_per_execution=2. Received: training.log_every=3.",
        ),
        (
            changed(training={"iterations": 10}),
            "training.iterations must be a multiple of training.log_every=4. Received: training.iterations=10.",
        ),
        (
            changed(training={"validate_every": 4}, evaluation={"batch": 30}),
            "training.validation_tasks must be a multiple of evaluation.batch=30.",
        ),
        (changed(optimizer={"clip_norm": 1, "clip_value": 1}), "optimizer.clip_norm must be null if clip_value is set."),
    ],
)
def test_what_is_wrong_is_one_line_that_names_the_key(values, message):
    with pytest.raises(ConfigurationError) as error:
        configuration.from_dict(values, "a.yaml")
    assert str(error.value).startswith(f"a.yaml: {message}"), str(error.value)
    assert "\n" not in str(error.value)


def test_difference_names_the_first_key():
    a, b = configuration.from_dict(SINUSOID).resolved(), configuration.from_dict(changed(learner={"inner_lr": 0.1})).resolved()
    assert identity.difference(a, b) == ("learner.inner_lr", 0.003, 0.1)
    assert identity.difference(a, a) is None


@pytest.mark.parametrize("section", ["optimizer", "training", "evaluation", "active_learning", "runtime"])
def test_the_documentation_has_every_key_with_its_default(section):
    text = (REPOSITORY / "docs" / "configuration.md").read_text().partition(f"## `{section}`")[2].partition("\n## ")[0]
    for key, field in configuration.Configuration.model_fields[section].annotation.model_fields.items():
        default = "required" if field.is_required() else f"`{yaml.safe_dump(field.default).split()[0]}`"
        assert f"| `{key}` | {default.replace('0.0', '0')} |" in text


OLD_NAMES = {
    "task": {"points": 6, "train_points": 50},
    "learner": {"saturation": 1e-7},
    "optimizer": {"schedule": "linear", "final": 0.001},
    "training": {"batch": 7, "keep": 3},
    "evaluation": {"steps": [0, 2], "saturation": 1e-5},
}


def test_former_names_are_read_and_said_once(capfd, monkeypatch):
    monkeypatch.setattr(renamed, "_said", set())
    values = changed(**OLD_NAMES)
    del values["training"]["meta_batch_size"]
    for _ in range(2):
        config = configuration.from_dict(values)
    assert (config.task.shot, config.task.train_shot, config.learner.probability_clip) == (6, 50, 1e-7)
    assert (config.optimizer.end_learning_rate, config.training.meta_batch_size, config.training.max_to_keep) == (0.001, 7, 3)
    assert (config.evaluation.inner_step_counts, config.evaluation.overrides()) == ((0, 2), {"probability_clip": 1e-5})
    (line,) = capfd.readouterr().err.splitlines()
    assert line.startswith("Former names of keys are read as their present ones: ")
    for pair in (
        "task.points → task.shot",
        "training.batch → training.meta_batch_size",
        "evaluation.saturation → evaluation.probability_clip",
    ):
        assert pair in line


@pytest.mark.parametrize("last", ["batch", "meta_batch_size"])
def test_the_value_that_was_set_last_counts_whatever_its_name(tmp_path, last):
    first = {"batch": "meta_batch_size", "meta_batch_size": "batch"}[last]
    base = changed()
    del base["training"]["meta_batch_size"]
    base["training"][last] = 1
    (tmp_path / "base.yaml").write_text(yaml.safe_dump(base))
    (tmp_path / "mine.yaml").write_text(f"extends: base.yaml\ntraining: {{{first}: 2}}")
    assert configuration.load(tmp_path / "mine.yaml").training.meta_batch_size == 2
    assert configuration.load(tmp_path / "mine.yaml", [f"training.{last}=3"]).training.meta_batch_size == 3
    assert configuration.origins(tmp_path / "mine.yaml", [f"training.{last}=3"])["training", "meta_batch_size"] == "--set"
