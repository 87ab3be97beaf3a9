"""Optimizers and schedules by name."""

import keras
import numpy as np
import pytest

from stochlwta_tf.config import configuration, optimizers
from stochlwta_tf.errors import ConfigurationError
from tests.config.test_configuration import SINUSOID


def optimizer(**options):
    return configuration.from_dict({**SINUSOID, "optimizer": {"name": "sgd", "learning_rate": 0.25, **options}}).optimizer


def test_the_names_are_keras_own():
    names = optimizers.optimizers()
    assert {"sgd", "adam", "adamw", "lion", "rmsprop"} <= names.keys() and not {"optimizer", "lossscaleoptimizer"} & names.keys()
    assert {"cosine_decay", "exponential_decay", "piecewise_constant_decay"} <= optimizers.schedules().keys()


def test_options_reach_the_optimizer():
    made = optimizers.build(optimizer(name="adamw", arguments={"weight_decay": 0.01, "beta_2": 0.98}, clip_norm=3), 10)
    assert isinstance(made, keras.optimizers.AdamW)
    assert (made.weight_decay, made.beta_2, made.clipnorm, float(made.learning_rate)) == (0.01, 0.98, 3, 0.25)


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"schedule": "constant"}, [0.25, 0.25, 0.25]),
        ({"schedule": "linear", "end_learning_rate": 0.05}, [0.25, 0.15, 0.05]),
        ({"schedule": "cosine_decay", "schedule_arguments": {"alpha": 0.2}}, [0.25, 0.15, 0.05]),
        ({"schedule": "cosine_decay", "schedule_arguments": {"decay_steps": 5}}, [0.25, 0, 0]),
        ({"schedule": "exponential_decay", "schedule_arguments": {"decay_rate": 0.25}}, [0.25, 0.125, 0.0625]),
        ({"schedule": "piecewise_constant_decay", "schedule_arguments": {"boundaries": [4], "values": [1.0, 0.5]}}, [1, 0.5, 0.5]),
    ],
)
def test_a_schedule_is_as_long_as_the_training(options, expected):
    made = optimizers.build(optimizer(**options), 10)
    rates = []
    for iteration in (0, 5, 10):
        made.iterations.assign(iteration)
        rates.append(float(made.learning_rate))
    np.testing.assert_allclose(rates, expected, atol=1e-7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"name": "adan"}, "unknown value optimizer.name='adan'. Did you mean 'adam'? Allowed: adadelta, "),
        ({"schedule": "cosine"}, "unknown value optimizer.schedule='cosine'. Did you mean 'cosine_decay'? Allowed: constant, linear, "),
        ({"arguments": {"momentun": 0.9}}, "unknown key optimizer.arguments.momentun. Did you mean 'momentum'? Allowed: "),
        ({"arguments": {"learning_rate": 1}}, "unknown key optimizer.arguments.learning_rate."),
        ({"arguments": {"use_ema": True}}, "unknown key optimizer.arguments.use_ema."),
        ({"arguments": {"gradient_accumulation_steps": 2}}, "unknown key optimizer.arguments.gradient_accumulation_steps."),
        ({"arguments": {"loss_scale_factor": 128}}, "unknown key optimizer.arguments.loss_scale_factor."),
        ({"schedule": "cosine_decay", "schedule_arguments": {"beta": 1}}, "unknown key optimizer.schedule_arguments.beta."),
        ({"schedule_arguments": {"alpha": 1}}, "optimizer.schedule_arguments must be empty for schedule=constant."),
    ],
)
def test_what_is_wrong_is_one_line(options, message):
    with pytest.raises(ConfigurationError) as raised:
        optimizer(**options)
    assert message in str(raised.value) and "\n" not in str(raised.value)


def test_a_value_that_keras_refuses_is_one_line():
    with pytest.raises(ConfigurationError, match=r"optimizer: sgd, constant: not possible: .* Received: \{'momentum': 7\}.") as raised:
        optimizers.build(optimizer(arguments={"momentum": 7}), 10)
    assert "\n" not in str(raised.value)
