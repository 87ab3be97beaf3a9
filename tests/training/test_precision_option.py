"""`runtime.precision`: the dtype policy of a run's network."""

import keras
import pytest

from stochlwta_tf.config import configuration, identity
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.evaluation.provenance import configured
from stochlwta_tf.tasks import Sinusoid
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder

HALF = "runtime.precision=mixed_bfloat16"


def test_the_network_computes_in_it_and_keras_keeps_its_own():
    before = keras.config.dtype_policy()
    learner = build.learner(configuration.load("sinusoid_default", [HALF]), Sinusoid("train", batch=2, seed=0))
    assert {layer.compute_dtype for layer in learner.network.layers} == {"bfloat16"}
    assert {v.dtype for v in learner.trainable_variables} == {"float32"}
    assert keras.config.dtype_policy() == before


def test_it_is_a_part_of_the_experiment_and_of_a_trained_model(tmp_path):
    own, half = (configuration.load("sinusoid_default", settings) for settings in ([], [HALF]))
    assert identity.training(own) != identity.training(half)
    folder = RunFolder(tmp_path)
    folder.config.write_text(own.to_yaml())
    folder.model.touch()
    with pytest.raises(ConfigurationError, match="a part of the trained model: None. Received: mixed_bfloat16."):
        configured(folder, [HALF])
    with pytest.raises(ConfigurationError, match="runtime.precision"):
        configuration.load("sinusoid_default", ["runtime.precision=half"])
