"""Configuration files as dictionaries: numbers, `extends`, overrides, and what is wrong with a file."""

import pytest

from stochlwta_tf.config import yaml_file
from stochlwta_tf.errors import ConfigurationError


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "value"), [("1e-4", 1e-4), ("1.0e-4", 1e-4), ("-2E3", -2000.0), ("60000", 60000), ("e5", "e5"), ("null", None)]
)
def test_numbers_are_read_as_people_write_them(tmp_path, text, value):
    read = yaml_file.read(write(tmp_path, "a.yaml", f"key: {text}"))["key"]
    assert read == value
    assert type(read) is type(value)


def test_extends_lays_sections_over_each_other(tmp_path):
    write(tmp_path, "base.yaml", "seed: 1\ntask: {name: a, way: 5}\nlearner: {name: x, rate: 1}")
    child = write(tmp_path, "child.yaml", "extends: base.yaml\ntask: {way: 20}\nlearner: {name: y}")
    # The options of learner x mean nothing to learner y.
    assert yaml_file.read(child) == {"seed": 1, "task": {"name": "a", "way": 20}, "learner": {"name": "y"}}


def test_overrides_of_a_section_hold_together():
    values = {"learner": {"name": "x", "rate": 1}}
    assert yaml_file.override(values, ["learner.rate=2", "learner.name=y", "seed=3"]) == {"learner": {"rate": 2, "name": "y"}, "seed": 3}
    assert values == {"learner": {"name": "x", "rate": 1}}
    assert yaml_file.override({"network": {"blocks": [1]}}, ["network.blocks=[16, 8]"]) == {"network": {"blocks": [16, 8]}}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("task: {way: 5", r"bad\.yaml, line 1, column 14: not valid YAML"),
        ("seed: 1\nseed: 2", r"line 2, column 1: .*'seed' is given twice"),
        ("- a", "must hold keys and values"),
        ("extends: bad.yaml", r"bad\.yaml: extends itself"),
        ("extends: none.yaml", r"none\.yaml \(which bad\.yaml extends\): cannot read .*No such file"),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message) as error:
        yaml_file.read(write(tmp_path, "bad.yaml", text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("assignment", ["seed", "=3", "a.b.c=1", "a.=1"])
def test_a_wrong_override_says_the_form(assignment):
    with pytest.raises(ConfigurationError, match="--set needs key=value"):
        yaml_file.override({}, [assignment])
