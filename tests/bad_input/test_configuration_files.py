"""Wrong configuration files."""

import pytest
import yaml

from stochlwta_tf.cli import train
from stochlwta_tf.config import configuration, yaml_file
from stochlwta_tf.errors import ConfigurationError
from tests.bad_input.conftest import TINY

pytestmark = pytest.mark.badinput
BASE = yaml.safe_dump(TINY)
LAUGHS = "a: &a [x, x]\n" + "".join(f"{b}: &{b} [{', '.join([f'*{a}'] * 9)}]\n" for a, b in zip("abcdefghijkl", "bcdefghijklm"))

FILES = {
    "empty": (b"", "must hold keys and values such as `seed: 0`. Received: 'None'."),
    "comment alone": (b"# nothing\n", "must hold keys and values"),
    "a list": (b"- seed: 0\n", "must hold keys and values"),
    "a word": (b"sinusoid", "must hold keys and values such as `seed: 0`. Received: 'sinusoid'."),
    "two documents": (b"seed: 0\n---\nseed: 1\n", "not valid YAML: but found another document"),
    "a tab": (b"task:\n\tname: sinusoid\n", "line 2, column 1: not valid YAML"),
    "unclosed": (b"task: {name: sinusoid\n", "not valid YAML"),
    "a colon too many": (b"task: name: sinusoid\n", "line 1, column 11: not valid YAML: mapping values are not allowed here."),
    "a key twice": (b"seed: 0\nseed: 1\n", "line 2, column 1: not valid YAML: the key 'seed' is given twice."),
    "a list as a key": (b"? [a, b]\n: 1\n", "not valid YAML: a key must be a name."),
    "an unknown alias": (b"seed: *nothing\n", "not valid YAML: found undefined alias 'nothing'."),
    "itself inside": (b"task: &a\n  name: *a\n", "not valid YAML: it is nested more than 20 deep."),
    "a thousand million words": (LAUGHS.encode(), "not valid YAML: its aliases repeat more than 100000 values."),
    "very deep": (b"seed: " + b"[" * 5000, "not valid YAML"),
    "very deep braces": (b"{a: " * 5000, "not valid YAML"),
    "zeros": (b"\0" * 100, "not valid YAML"),
    "a control character": (b"name: a\x07b\n", "not valid YAML"),
    "latin-1": ("name: é".encode("latin-1"), "not a text file in UTF-8"),
    "utf-16": ("seed: 0".encode("utf-16"), "not a text file in UTF-8"),
    "a picture": (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "not a text file in UTF-8"),
    "code": (b"seed: !!python/object/apply:os.system ['false']\n", "not valid YAML: could not determine a constructor"),
    "a bad date": (b"seed: !!timestamp 2020-13-45\n", "not valid YAML"),
    "a bad time stamp": (b"seed: !!timestamp never\n", "not valid YAML"),
    "a bad number": (b"seed: !!int many\n", "not valid YAML"),
    "a number of 5000 digits": (b"seed: " + b"1" * 5000 + b"\n", "not valid YAML"),
    "bad base64": ("name: !!binary é\n".encode(), "not valid YAML"),
    "extends itself": (b"extends: wrong.yaml\n", "extends itself"),
    "extends nothing": (b"extends: []\n", "extends must be the name of a YAML file, or a list of such names. Received: extends=[]."),
    "extends a number": (b"extends: 3\n", "extends must be the name of a YAML file"),
    "extends what is not there": (b"extends: none.yaml\n", "none.yaml (which wrong.yaml extends): cannot read the configuration"),
    "extends a folder": (b"extends: .\n", "(which wrong.yaml extends): cannot read the configuration: Is a directory"),
    "extends a null byte": (b'extends: "a\\0b"\n', "cannot read the configuration"),
    "extends a long name": (b"extends: " + b"x" * 300 + b"\n", "cannot read the configuration: File name too long"),
}
CHANGED = {
    "no task": ({"task": None}, "task is missing"),
    "no optimizer": ({"optimizer": None}, "optimizer"),
    "a section is a list": ({"training": [1, 2]}, "training"),
    "a section is a word": ({"network": "mlp"}, "network must be a section with a name"),
    "a key is a number": ({7: 1}, "unknown key 7"),
    "a key is null": ({None: 1}, "unknown key"),
    "a key in a section is a number": ({"task": {**TINY["task"], 3: 4}}, "unknown key task.3"),
    "a set": ({"seed": {1, 2}}, "seed must be a valid integer"),
    "bytes": ({"name": b"a\xff"}, "name must match pattern"),
    "not a number": ({"seed": float("nan")}, "seed must be"),
    "a lone surrogate": ({"name": "\ud800"}, "name"),
    "a null byte": ({"name": "a\0b"}, "name must match pattern"),
    "twenty sections deep": ({"seed": yaml.safe_load("[" * 20 + "]" * 20)}, "seed must be a valid integer"),
    "a dictionary for a number": (
        {"training": {**TINY["training"], "meta_batch_size": {"a": 1}}},
        "training.meta_batch_size must be a valid integer",
    ),
    "a learner without a name": ({"learner": {"inner_steps": 1}}, "learner must be a section with a name"),
    "a learner without a valid name": ({"learner": {"name": None}}, "unknown value learner.name=None"),
}


@pytest.mark.parametrize("case", FILES)
def test_a_file(here, refused, case):
    content, message = FILES[case]
    (here / "wrong.yaml").write_bytes(content)
    assert message in refused(train.main, ["--config", "wrong.yaml"])


@pytest.mark.parametrize("case", CHANGED)
def test_a_value(case):
    changes, message = CHANGED[case]
    with pytest.raises(ConfigurationError) as error:
        configuration.from_dict({**TINY, **changes})
    assert message in str(error.value) and "\n" not in str(error.value)


@pytest.mark.parametrize("values", [None, [], "tiny", 3], ids=repr)
def test_a_configuration_is_a_dictionary(values):
    with pytest.raises(ConfigurationError, match="must hold keys and values") as error:
        configuration.from_dict(values)
    assert "\n" not in str(error.value)


def test_what_is_read_again_is_what_was_written(tmp_path):
    """The words that YAML takes for something else: `no` is false, `012` eight and two, `1:30` ninety."""
    for name in ("no", "012", "1e3", "null", "2020-01-01", "0x1f", "é"):
        config = configuration.from_dict({**TINY, "name": name})
        (tmp_path / "a.yaml").write_text(config.to_yaml(), encoding="utf-8")
        assert configuration.load(tmp_path / "a.yaml").name == name
    assert yaml_file.read(tmp_path / "a.yaml")["name"] == "é"
