"""Whatever YAML holds, it is a configuration that reads back as itself, or one line."""

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stochlwta_tf.config import configuration, yaml_file
from stochlwta_tf.errors import ConfigurationError
from tests.bad_input.conftest import TINY

pytestmark = pytest.mark.badinput
QUICK = settings(max_examples=150, deadline=None, derandomize=True)
SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | st.dates() | st.binary(max_size=4)
VALUES = st.recursive(SCALARS, lambda v: st.lists(v, max_size=3) | st.dictionaries(st.text(max_size=6), v, max_size=3), max_leaves=6)
PLACES = [(key,) for key in TINY] + [(section, key) for section, values in TINY.items() if isinstance(values, dict) for key in values]
SENSIBLE = st.sampled_from([0, 1, 2, 3, 100, 0.5, True, "sgd", "adam", "maml", "glyphs", "conv4", "standard", [3], None, "1e3", "no"])
OPTIONS = ["seed", "way", "queries", "units", "draws", "inner_lr", "keep", "log_every", "batch", "protocol", "schedule", "steps", "device"]


def checked(values):
    """The configuration of any dictionary, or None where it is refused by one line."""
    try:
        config = configuration.from_dict(values)
    except ConfigurationError as error:
        assert "\n" not in str(error) and len(str(error)) < 1500
        return None
    assert configuration.from_dict(config.resolved()) == config
    return config


@QUICK
@given(values=st.dictionaries(st.text(max_size=8) | st.integers() | st.none(), VALUES, max_size=5))
def test_any_dictionary(values):
    assert checked(values) is None


@QUICK
@given(changes=st.lists(st.tuples(st.sampled_from(PLACES), SENSIBLE | VALUES), min_size=1, max_size=3))
def test_any_value_in_any_place(changes):
    values = copy.deepcopy(TINY)
    for (*section, key), value in changes:
        target = values
        for part in section:
            target = target[part] if isinstance(target.get(part), dict) else target
        target[key] = value
    checked(values)


@QUICK
@given(section=st.sampled_from([key for key in TINY if isinstance(TINY[key], dict)]), key=st.sampled_from(OPTIONS), value=SENSIBLE)
def test_any_option_in_any_section(section, key, value):
    checked({**TINY, section: {**TINY[section], key: value}})


@QUICK
@given(text=st.text(alphabet="ab:-[]{}*&!#|>'\"%@`,? \t\n019.e+~\0\ud800é", max_size=40))
def test_any_text(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "any.yaml"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    try:
        assert isinstance(yaml_file.read(path), dict)
    except ConfigurationError as error:
        assert "\n" not in str(error)


@QUICK
@given(text=st.text(max_size=12) | st.from_regex(r"[-+]?[0-9_]{1,3}[.:eE0-9_-]{0,4}", fullmatch=True))
def test_any_text_is_read_as_it_was_written(tmp_path_factory, text):
    path = tmp_path_factory.getbasetemp() / "text.yaml"
    path.write_text(yaml_file.dump({"name": text}), encoding="utf-8", errors="surrogatepass", newline="")
    assert yaml_file.read(path) == {"name": text}
