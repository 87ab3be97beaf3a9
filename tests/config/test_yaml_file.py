"""Configuration files as dictionaries: numbers, `extends`, overrides, and what is wrong with a file."""

import pytest
import yaml

from stochlwta_tf.config import lookup, yaml_file
from stochlwta_tf.errors import ConfigurationError


def write(folder, name, text):
    path = folder / name
    path.write_text(text)
    return path


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-4", 1e-4), ("1.0e-4", 1e-4), ("-2E3", -2000.0), (".5", 0.5), ("1.", 1.0), ("60000", 60000), ("60_000", 60000), ("e5", "e5"),
        ("null", None), ("010", 10), ("001", 1), ("-08", -8), ("0o10", 8), ("0x1F", 31), ("12:30", "12:30"), ("1:30.5", "1:30.5"),
        ("2024-01-01", "2024-01-01"), ("2024-99-99", "2024-99-99"), ("'010'", "010"), (".inf", float("inf")),
    ],
)  # fmt: skip
def test_numbers_are_read_as_people_write_them(tmp_path, text, value):
    read = yaml_file.read(write(tmp_path, "a.yaml", f"key: {text}"))["key"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    "value", ["010", "08", "0o17", "1e5", "12:30", "no", "2024-01-01", "~", "", "1_0", ".5", 10, 1e-5, 0.1, True, None]
)
def test_what_is_written_is_read_back_by_this_and_any_other_reader(tmp_path, value):
    text = yaml_file.dump({"key": value})
    for read in (yaml_file.read(write(tmp_path, "a.yaml", text)), yaml.safe_load(text)):
        assert read == {"key": value}
        assert type(read["key"]) is type(value)


def test_extends_lays_sections_over_each_other(tmp_path):
    write(tmp_path, "base.yaml", "seed: 1\ntask: {name: a, way: 5}\nlearner: {name: x, rate: 1}")
    child = write(tmp_path, "child.yaml", "extends: base.yaml\ntask: {way: 20}\nlearner: {name: y}")
    # The options of learner x mean nothing to learner y.
    assert yaml_file.read(child) == {"seed": 1, "task": {"name": "a", "way": 20}, "learner": {"name": "y"}}


def test_a_list_is_laid_in_its_order_and_the_file_over_it(tmp_path):
    (tmp_path / "parts" / "deep").mkdir(parents=True)
    write(tmp_path, "parts/a.yaml", "seed: 1\ntask: {name: t, way: 5, shot: 1}\ntraining: {batch: 1, keep: 1, log: 1}")
    write(tmp_path, "parts/deep/b.yaml", "extends: ../c.yaml\ntask: {way: 20}\ntraining: {batch: 2, keep: 2}")  # relative to its own folder
    write(tmp_path, "parts/c.yaml", "task: {shot: 3, way: 3}\nnote: c")
    child = write(tmp_path, "child.yaml", "extends: [parts/a.yaml, parts/deep/b.yaml]\ntraining: {batch: 3}")
    assert yaml_file.read(child) == {
        "seed": 1, "task": {"name": "t", "way": 20, "shot": 3}, "training": {"batch": 3, "keep": 2, "log": 1}, "note": "c",
    }  # fmt: skip
    assert [file.name for file, _ in yaml_file.layers(child)] == ["a.yaml", "c.yaml", "b.yaml", "child.yaml"]


def test_options_of_a_section_without_a_name_go_to_the_first_that_is_named(tmp_path):
    write(tmp_path, "shared.yaml", "learner: {rate: 1, steps: 5}")
    write(tmp_path, "x.yaml", "learner: {name: x, rate: 2}")
    write(tmp_path, "y.yaml", "learner: {name: y}")
    assert yaml_file.read(write(tmp_path, "one.yaml", "extends: [shared.yaml, x.yaml]")) == {
        "learner": {"name": "x", "rate": 2, "steps": 5}
    }
    # A second name replaces what the first had, the shared options too; those that come after it are its own.
    assert yaml_file.read(write(tmp_path, "two.yaml", "extends: [shared.yaml, x.yaml, y.yaml]")) == {"learner": {"name": "y"}}
    after = yaml_file.read(write(tmp_path, "three.yaml", "extends: [x.yaml, y.yaml, shared.yaml]\nlearner: {steps: 6}"))
    assert after == {"learner": {"name": "y", "rate": 1, "steps": 6}}


def test_the_origin_of_a_value_is_the_last_that_gives_it():
    layers = [
        ("a", {"seed": 0, "task": {"name": "t", "way": 5}, "learner": {"name": "x", "rate": 1}}),
        ("b", {"task": {"way": 5}, "learner": {"name": "y"}}),
        ("c", {"learner": {"name": "y", "steps": 2}, "training": {}}),
    ]
    assert yaml_file.origins(layers) == {
        ("seed",): "a", ("task", "name"): "a", ("task", "way"): "b", ("learner", "name"): "c", ("learner", "steps"): "c",
    }  # fmt: skip


def test_a_part_may_be_listed_by_two_files_but_not_by_itself(tmp_path):
    write(tmp_path, "base.yaml", "seed: 1")
    write(tmp_path, "left.yaml", "extends: base.yaml\nseed: 2")
    write(tmp_path, "right.yaml", "extends: base.yaml")
    assert yaml_file.read(write(tmp_path, "both.yaml", "extends: [left.yaml, right.yaml]")) == {"seed": 1}
    write(tmp_path, "base.yaml", "extends: [both.yaml]")
    with pytest.raises(ConfigurationError, match=r"^\S*both\.yaml: extends itself through left\.yaml, base\.yaml\.$"):
        yaml_file.read(tmp_path / "both.yaml")


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
        ("extends: 3", r"bad\.yaml: extends must be the name of a YAML file, or a list of such names\. Received: extends=3\."),
        ("extends: [a.yaml, 3]", r"extends must be .*Received: extends=\['a\.yaml', 3\]"),
        ("extends: []", r"extends must be .*Received: extends=\[\]"),
        ("extends: {a: b}", r"extends must be .*Received: extends=\{'a': 'b'\}"),
        ("extends: [bad.yaml]", r"bad\.yaml: extends itself\.$"),
        ("extends: [none.yaml]", r"none\.yaml \(which bad\.yaml extends\): cannot read"),
        ("seed: " + "1" * 5000, r"bad\.yaml: not valid YAML: a value cannot be read \(Exceeds the limit"),
        ("seed: !!int a", r"bad\.yaml: not valid YAML: a value cannot be read \(invalid literal for int"),
        ("seed: " + "[" * 5000, r"bad\.yaml: not valid YAML: it is nested too deeply"),
        ("seed: \x00", r"bad\.yaml: not valid YAML: unacceptable character"),
        ('extends: "a\\0.yaml"', r"a\\x00\.yaml': cannot read"),
        ("extends: none.yaml", r"none\.yaml \(which bad\.yaml extends\): cannot read the configuration: not found in "),
    ],
)
def test_a_wrong_file_is_one_clear_line(tmp_path, text, message):
    with pytest.raises(ConfigurationError, match=message) as error:
        yaml_file.read(write(tmp_path, "bad.yaml", text))
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ["sinusoid_default", "configs/sinusoid_default.yaml", "recommended/own_images"])
def test_a_file_extends_a_shipped_configuration_by_name_from_any_folder(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    expected = yaml_file.read(lookup.find(name))
    assert yaml_file.read(write(tmp_path, "own.yaml", f"extends: {name}\nseed: 5")) == {**expected, "seed": 5}
    (tmp_path / "sinusoid_default").write_text("seed: 7")
    assert yaml_file.read(write(tmp_path, "own.yaml", "extends: sinusoid_default"))["seed"] == 7  # what is beside the file comes first


@pytest.mark.parametrize("assignment", ["seed", "=3", "a.b.c=1", "a.=1"])
def test_a_wrong_override_says_the_form(assignment):
    with pytest.raises(ConfigurationError, match="--set needs key=value"):
        yaml_file.override({}, [assignment])
