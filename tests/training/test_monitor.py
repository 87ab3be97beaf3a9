"""What a training records of posteriors and of competing units, beside closed forms in NumPy."""

import types

import keras
import numpy as np
import pytest

from stochlwta_tf.layers import GaussianDense, StochasticLWTA
from stochlwta_tf.training.monitor import Monitor
from tests.helpers.tiny_runs import VALUES, learner_of


@pytest.fixture(scope="module")
def monitored():
    """A learner of competing units, the tasks, and what a monitor logs at a validation."""
    learner, tasks = learner_of(network={**VALUES["network"], "weights": "gaussian"})
    monitor = Monitor(learner.network, tasks)
    monitor.set_model(learner)
    logs = {"val_accuracy": 0.5}
    monitor.on_epoch_end(0, logs)
    return learner, tasks, logs


def test_the_posterior_of_the_weights(monitored):
    learner, _, logs = monitored
    layers = [layer for layer in learner.network.layers if isinstance(layer, GaussianDense)]
    means, stds = ([np.ravel(f(layer)) for layer in layers] for f in (lambda a: a.posterior().mean(), lambda a: a.posterior().stddev()))
    mean, std = np.concatenate(means).astype("float64"), np.concatenate(stds).astype("float64")
    assert logs["posterior_std"] == pytest.approx(std.mean(), rel=1e-6)
    assert logs["weights_kl"] == pytest.approx((0.5 * (std**2 + mean**2 - 1) - np.log(std)).sum(), rel=1e-5)


def test_the_entropy_of_the_winners_follows_from_the_units_inputs(monitored):
    learner, tasks, logs = monitored
    layers = [layer for layer in learner.network.layers if hasattr(layer, "competitors")]
    assert 0 < logs["winners_entropy"] <= np.log(2)
    blocks = sum(layer.output.shape[-1] // layer.competitors for layer in layers)
    assert logs["winners_kl"] == pytest.approx(blocks * (np.log(2) - logs["winners_entropy"]), rel=1e-5)  # all have J = 2
    for variable in learner.network.trainable_variables:  # no unit is better than another
        variable.assign(np.full(variable.shape, -30.0 if "rho" in variable.path else 0.0))
    monitor, even = Monitor(learner.network, tasks), {"val_accuracy": 0.5}
    monitor.set_model(learner)
    monitor.on_epoch_end(0, even)
    assert even["winners_entropy"] == pytest.approx(np.log(2), abs=1e-5) and even["winners_kl"] == pytest.approx(0, abs=1e-4)


def test_the_winners_are_those_of_the_network_whatever_else_is_learned():
    found = []
    for learned in (False, True):
        learner, tasks = learner_of(
            network={**VALUES["network"], "weights": "gaussian"}, learner={"name": "maml", "learn_inner_rates": learned}
        )
        monitor, logs = Monitor(learner.network, tasks), {"val_accuracy": 0.5}
        monitor.set_model(learner)
        monitor.on_epoch_end(0, logs)
        found.append(logs["winners_entropy"])
    assert found[0] == found[1] < np.log(2)


def test_a_subclassed_network_is_monitored_as_far_as_it_can_be():
    class Competing(keras.Model):
        def __init__(self):
            super().__init__()
            self.hidden, self.units, self.head = GaussianDense(4), StochasticLWTA(2), keras.layers.Dense(2)

        def call(self, x):
            return self.head(self.units(self.hidden(x)))

    network, logs = Competing(), {"val_accuracy": 0.5}
    network(np.zeros((1, 3), "float32"))
    Monitor(network, "a task").on_epoch_end(0, logs)
    assert logs.keys() == {"val_accuracy", "posterior_std", "weights_kl"}


def test_other_networks_and_rows_without_a_validation_have_none_of_it():
    network = types.SimpleNamespace(_flatten_layers=lambda: [], layers=[])
    monitor, logs = Monitor(network), {"loss": 1.0}
    monitor.on_epoch_end(0, logs)
    assert logs == {"loss": 1.0}
