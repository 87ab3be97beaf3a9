"""The layer of the observation noise."""

import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.layers import ObservationNoise, with_observation_noise


def test_the_layer_puts_its_std_beside_each_mean():
    outputs = ObservationNoise(0.5)(np.arange(6, dtype="float32").reshape(3, 2))
    np.testing.assert_allclose(outputs, [[0, 0.5, 1, 0.5], [2, 0.5, 3, 0.5], [4, 0.5, 5, 0.5]], rtol=1e-6)


def test_a_network_is_wrapped_once_and_keeps_its_layers():
    network = networks.mlp((1,), 1, units=(3,))
    wrapped = with_observation_noise(network, 0.3)
    assert with_observation_noise(wrapped, 0.7) is wrapped
    assert wrapped.output_shape == (None, 2)
    assert [layer.name for layer in wrapped.layers[:-1]] == [layer.name for layer in network.layers]
    assert len(wrapped.trainable_variables) == len(network.trainable_variables) + 1


@pytest.mark.parametrize("stds", [(0.001, 0.01), (1.0, 0.0), (-1.0, 0.01)])
def test_impossible_stds_are_refused(stds):
    with pytest.raises(ValueError, match="must be positive and at most `noise_std`"):
        ObservationNoise(*stds)
