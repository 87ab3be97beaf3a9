"""Schemas made from signatures."""

from typing import Annotated

import keras
import pytest
from pydantic import Field, create_model

from stochlwta_tf.config.schema import Section, options_of, section, validate
from stochlwta_tf.errors import ConfigurationError


class Base(keras.layers.Layer):
    def __init__(self, network, *, rate: Annotated[float, Field(gt=0)] = 0.1, steps: int = 5, **kwargs):
        super().__init__(**kwargs)


class Method(Base):
    def __init__(self, network, *, rate: Annotated[float, Field(gt=0)] = 0.5, order: int = 2, **kwargs):
        super().__init__(network, rate=rate, **kwargs)


def make(shape, *, sizes: tuple[int, ...] = (1, 2), **options):
    return Method(shape, **options)


make.options_of = Method


def test_options_come_from_all_classes_the_nearest_first():
    options = options_of(Method, ("network",))
    assert {name: default for name, (_, default) in options.items()} == {"rate": 0.5, "order": 2, "steps": 5}  # and none of Keras's


def test_a_function_names_the_class_that_takes_its_options():
    assert list(options_of(make, ("shape", "network"))) == ["sizes", "rate", "order", "steps"]


def test_an_option_without_annotation_is_a_mistake_of_the_programmer():
    with pytest.raises(TypeError, match="`x` of .* has no annotation"):
        options_of(lambda x: x, ())


def test_an_unknown_key_within_a_list_of_sections_is_named():
    inner = section("network", "make", make, ("shape", "network"))
    outer = create_model("Outer", __base__=Section, rows=(Annotated[tuple[inner, ...], Field(min_length=1)], ...))
    with pytest.raises(ConfigurationError, match=r"unknown key rows\.1\.rat\. Did you mean 'rate'\? Allowed: name, "):
        validate(outer, {"rows": [{"name": "make"}, {"name": "make", "rat": 1}]}, "file")


def test_lists_become_tuples_and_integers_floats():
    model = section("network", "make", make, ("shape", "network"))
    made = validate(model, {"name": "make", "sizes": [3], "rate": 1}, "file")
    assert made.options() == {"sizes": (3,), "rate": 1.0, "order": 2, "steps": 5}


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"rat": 1}, "unknown key rat. Did you mean 'rate'? Allowed: name, sizes, rate, order, steps."),
        ({"rate": "fast"}, 'rate must be a valid number. Received: rate="fast".'),
        ({"rate": "0.1"}, 'rate must be a valid number. Received: rate="0.1".'),
        ({"rate": 0}, "rate must be greater than 0. Received: rate=0."),
        ({"rate": True}, "rate must be a valid number. Received: rate=true."),
        ({"rate": float("nan")}, "rate must be a finite number. Received: rate=NaN."),
        ({"order": 2.5}, "order must be a valid integer. Received: order=2.5."),
        ({"sizes": [1, "a"]}, 'sizes.1 must be a valid integer. Received: sizes.1="a".'),
    ],
)
def test_what_is_wrong_is_one_line(values, message):
    with pytest.raises(ConfigurationError) as error:
        validate(section("network", "make", make, ("shape", "network")), {"name": "make", **values}, "file")
    assert str(error.value) == f"file: {message}"
