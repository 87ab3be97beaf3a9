"""`train.py --show`: the resolved configuration, where each value comes from, and what it builds."""

import re
from pathlib import Path

import pytest
import yaml

from stochlwta_tf.cli import show, train
from stochlwta_tf.config import configuration
from stochlwta_tf.networks import parameters_of
from stochlwta_tf.tasks import TASKS, ImageFolder
from stochlwta_tf.training import build
from tests.helpers import REPOSITORY

CONFIGS = REPOSITORY / "configs"


def shown(text):
    """`{(section, key): (value, origin)}` and the lines of sizes, read line by line."""
    values, sizes, section = {}, [], None
    for line in text.splitlines():
        if line.startswith("# "):
            sizes.append(line)
            continue
        indent, key, value, origin = re.fullmatch(r"( *)(\w+):(?: (.*?) +# (\S+))?", line).groups()
        if origin is None:
            section = key
        else:
            values[(section, key) if indent else (key,)] = (yaml.safe_load(value), origin)
    return values, sizes


@pytest.mark.parametrize("name", ["omniglot_20w1s", "miniimagenet_5w5s_maml", "sinusoid_challenging_abml_tanh", "glyphs_5w1s_reptile"])
def test_every_value_is_in_the_file_that_it_is_said_to_come_from(name):
    path = CONFIGS / f"{name}.yaml"
    text = show.text(path)
    assert yaml.safe_load(text) == configuration.load(path).resolved()
    parts = [CONFIGS / part for part in yaml.safe_load(path.read_text())["extends"]]
    # The last file of the list that has the key, found without the code under test; no section of a shipped list changes its name.
    given = {}
    for file in [*parts, path]:
        for section, content in yaml.safe_load(file.read_text()).items():
            for key in content if isinstance(content, dict) else [None]:
                given[(section,) if key is None else (section, key)] = file, content if key is None else content[key]
    del given["extends",]
    values, _ = shown(text)
    assert given.keys() <= values.keys()
    for key, (value, origin) in values.items():
        if origin == "default":
            assert key not in given, key
        else:
            assert (Path(origin), value) == given[key], key


def test_overrides_and_a_changed_name_are_told(tmp_path):
    (tmp_path / "part.yaml").write_text("learner: {name: maml, order: 1, inner_lr: 0.5}\noptimizer: {clip_norm: 1}")
    (tmp_path / "mine.yaml").write_text(
        f"extends: [{CONFIGS}/sinusoid_default_maml.yaml, part.yaml]\nname: mine\nlearner: {{name: reptile, saturation: null}}"
    )
    values, sizes = shown(show.text(tmp_path / "mine.yaml", ["training.meta_batch_size=3", "learner.inner_lr=0.25"]))
    assert values["training", "meta_batch_size"] == (3, "--set") and sizes[-1] == "# tasks in an iteration: 3"
    assert values["learner", "inner_lr"] == (0.25, "--set")
    assert values["learner", "name"] == ("reptile", f"{tmp_path}/mine.yaml")
    assert values["learner", "inner_steps"][1] == "default"  # MAML's options are not Reptile's
    assert values["learner", "probability_clip"] == (None, f"{tmp_path}/mine.yaml")  # given under its old name
    assert values["optimizer", "clip_norm"] == (1, f"{tmp_path}/part.yaml")
    assert values["network", "units"] == ([40, 40], f"{CONFIGS}/parts/network/mlp_relu.yaml")


@pytest.mark.parametrize(
    ("name", "input_shape", "outputs", "parameters"),
    [
        # 3x3 convolutions of 64 and batch normalisation's scale and shift, then a head on 2x2x64 features.
        ("omniglot_20w5s_maml", [28, 28, 1], 20, (9 + 1 + 2) * 64 + 3 * (9 * 64 + 1 + 2) * 64 + (256 + 1) * 20),
        ("miniimagenet_5w1s_maml", [84, 84, 3], 5, (27 + 1 + 2) * 32 + 3 * (9 * 32 + 1 + 2) * 32 + (1152 + 1) * 5),
        ("cifar100_5w5s_fomaml", [32, 32, 3], 5, (27 + 1 + 2) * 32 + 3 * (9 * 32 + 1 + 2) * 32 + (128 + 1) * 5),
        ("sinusoid_default_maml", [1], 1, 2 * 40 + 41 * 40 + 41),
    ],
)
def test_sizes_need_no_data_and_nothing_is_written(tmp_path, monkeypatch, capsys, name, input_shape, outputs, parameters):
    for variable in ("STOCHLWTA_CACHE", "TFDS_DATA_DIR", "MINIIMAGENET_DIR"):
        monkeypatch.setenv(variable, str(tmp_path / "none"))
    monkeypatch.chdir(tmp_path)
    assert train.main(["--config", str(CONFIGS / f"{name}.yaml"), "--show"]) == 0
    _, sizes = shown(capsys.readouterr().out)
    assert sizes[:2] == [f"# input: {input_shape}, outputs: {outputs}", f"# trainable parameters: {parameters:,}"]
    assert not list(tmp_path.iterdir())


def test_sizes_are_those_of_the_run():
    path = CONFIGS / "sinusoid_default_abml.yaml"
    config = configuration.load(path)
    learner = build.learner(config, build.tasks(config, "train"))
    assert f"trainable parameters: {parameters_of(learner)['trainable']:,}" in list(show.sizes(config))


def test_shapes_that_only_the_data_knows_are_unknown(monkeypatch):
    class Unsized(TASKS["omniglot"]):
        input_shape = None

    monkeypatch.setitem(TASKS, "unsized", Unsized)
    config = configuration.read(CONFIGS / "omniglot_5w1s.yaml", ["task.name=unsized", "task.way=5"])
    lines = list(show.sizes(configuration.from_dict(config)))
    assert lines == ["shapes and parameters: unknown without the data of unsized", "tasks in an iteration: 50"]


def test_the_shape_of_a_folder_of_images_is_in_its_options():
    assert ImageFolder.shapes({"size": 20, "channels": 1, "way": 3}) == ((20, 20, 1), 3)


def test_a_suite_is_not_shown(capsys):
    with pytest.raises(SystemExit):
        train.main(["--suite", "table1", "--show"])
    assert "--suite can only be combined with" in capsys.readouterr().err
