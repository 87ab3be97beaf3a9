"""Winners of competing units, against NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import layers
from stochlwta_tf.errors import UserError
from stochlwta_tf.evaluation import winners
from tests.helpers.tiny_runs import VALUES, learner_of


def test_the_winner_is_the_unit_that_passes():
    h = np.random.default_rng(0).normal(size=(50, 4, 6)).astype("float32")
    y = layers.StochasticLWTA(3, seed=0)(h).numpy()
    expected = (y.reshape(50, 4, 2, 3) != 0).reshape(50, 4, 6).mean(1)  # over positions
    np.testing.assert_allclose(winners.Winners(3)([tf.constant(h), tf.constant(y)]), expected, rtol=1e-6)
    y = layers.DeterministicLWTA(2)(h[:, 0]).numpy()
    blocks = h[:, 0].reshape(50, 3, 2)
    np.testing.assert_array_equal(
        winners.Winners(2)([tf.constant(h[:, 0]), tf.constant(y)]), (blocks == blocks.max(-1, keepdims=True)).reshape(50, 6)
    )


def test_frequencies_are_means_over_draws_and_a_classs_queries():
    rng = np.random.default_rng(0)
    won, labels = rng.integers(0, 2, (5, 20, 4)).astype(float), rng.integers(0, 3, 20)
    found = winners.frequencies(won, labels, 4)
    for c in range(3):
        np.testing.assert_allclose(found[c], np.mean([won[b, q] for b in range(5) for q in range(20) if labels[q] == c], 0))
    assert np.isnan(found[3]).all()


def test_the_summary_of_a_layer():
    won = np.zeros((2, 1, 2, 4))  # two tasks, one draw, a query of each of two classes, two blocks of two
    won[:, :, :, 0] = 1.0  # unit 0 always wins its block
    won[0, 0, 0, 2] = won[0, 0, 1, 3] = won[1, 0, :, 2] = 1.0
    found = winners.summary(won, np.array([[0, 1], [0, 1]]), 2, 2)
    assert (found["blocks"], found["unused"], found["consistency"]) == (2, 1, 1.0)
    assert found["overall"] == [1.0, 0.0, 0.75, 0.25]
    assert found["by_class"] == [[1.0, 0.0, 1.0, 0.0], [1.0, 0.0, 0.0, 1.0]]


SINUSOID = {"name": "sinusoid", "queries": 6, "train_queries": 2}


@pytest.mark.parametrize(
    "learner", [pytest.param(name, marks=pytest.mark.slow) for name in ("stochlwta", "maml", "bmaml", "abml", "platipus")]
)
def test_each_block_has_one_winner_whatever_the_method(learner):
    made, task = learner_of(task=SINUSOID, learner={"name": learner, "inner_steps": 1})
    found = winners.wins(made, task)
    assert {name: won.shape for name, won in found.items()} == {"units1": (2, made.draws, 6, 6), "units2": (2, made.draws, 6, 4)}
    for won in found.values():
        np.testing.assert_array_equal(won.reshape(*won.shape[:3], -1, 2).sum(-1), 1.0)


def test_the_winners_are_those_of_the_prediction():
    """The network in NumPy, with those winners, predicts the same."""
    network = {**VALUES["network"], "weights": "point"}
    made, task = learner_of(task=SINUSOID, network=network, learner={"name": "stochlwta", "inner_steps": 0, "draws": 3})
    found, h = winners.wins(made, task), task.query_x.numpy()[:, None]
    for i in (1, 2):
        kernel, bias = (v.numpy() for v in made.network.get_layer(f"hidden{i}").trainable_variables)
        h = found[f"units{i}"] * (h @ kernel + bias)
    kernel, bias = (v.numpy() for v in made.network.get_layer("output").trainable_variables)
    np.testing.assert_allclose(made.predict_tasks(task).numpy(), h @ kernel + bias, rtol=1e-5, atol=1e-6)


@pytest.mark.slow
def test_convolutions_count_positions():
    network = {"name": "conv4", "filters": 4, "activation": "stochastic_lwta", "winners_kl_weight": 0}
    made, task = learner_of(network=network, learner={"name": "maml", "inner_steps": 1, "batch_statistics": "support"})
    found = winners.wins(made, task)
    assert list(found) == ["units1", "units2", "units3", "units4"]
    for won in found.values():
        assert won.shape == (2, 1, 12, 4)
        np.testing.assert_allclose(won.reshape(2, 1, 12, 2, 2).sum(-1), 1.0, rtol=1e-5)


def test_a_network_without_competition_has_no_winners():
    made, _ = learner_of(network={"name": "mlp", "units": [4]}, learner={"name": "reptile", "inner_steps": 1})
    with pytest.raises(UserError, match="the network has no competing units"):
        winners.layers_of(made.network)
