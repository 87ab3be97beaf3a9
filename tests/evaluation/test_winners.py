"""Winners of competing units and reliability of class probabilities, against NumPy."""

import json

import matplotlib.image
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import layers, metrics
from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import UserError
from stochlwta_tf.evaluation import reliability, winners
from stochlwta_tf.figures import winners as winners_figure
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder

VALUES = {
    "name": "tiny",
    "task": {"name": "glyphs", "way": 3, "queries": 4, "train_queries": 2},
    "network": {"name": "dense_lwta", "blocks": [3, 2], "winners_kl_weight": 0, "weights_kl_weight": 0},
    "learner": {"name": "stochlwta", "inner_steps": 1, "draws": 5},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "training": {"iterations": 100, "batch": 2},
    "evaluation": {"tasks": 4, "batch": 2},
}


def learner_of(**sections):
    config = configuration.from_dict({**VALUES, **sections})
    tasks = build.tasks(config, "test")
    return build.learner(config, tasks), tasks.sample(0)


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
    "learner", ["stochlwta", *(pytest.param(name, marks=pytest.mark.slow) for name in ("maml", "bmaml", "abml", "platipus"))]
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


def test_bins_are_those_of_the_calibration_error():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([0.5, 0.5, 0.5], (30, 20))
    y = np.array([[rng.choice(3, p=q) for q in task] for task in p])
    found = reliability.bins(p, y)
    assert found["ece"] == pytest.approx(100 * metrics.calibration_error(p, y)[0])
    top, right = p.max(-1).ravel(), (p.argmax(-1) == y).ravel()
    assert sum(found["count"]) == 600
    for i in range(15):
        inside = (top > found["edges"][i]) & (top <= found["edges"][i + 1])
        assert found["count"][i] == inside.sum()
        if inside.any():
            assert found["accuracy"][i] == pytest.approx(right[inside].mean())
            assert found["confidence"][i] == pytest.approx(top[inside].mean())
    assert found["accuracy"][0] is None  # no top probability of three is below 1/3


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    config, folder = configuration.from_dict(VALUES), RunFolder(tmp_path_factory.mktemp("runs") / "tiny")
    folder.begin(config)
    build.learner(config, build.tasks(config, "train")).save(folder.model)
    return folder


@pytest.mark.parametrize(("what", "form"), [("winners", "png"), ("reliability", "svg")])
def test_the_command_line_makes_a_picture_and_its_numbers(run, tmp_path, what, form, capsys):
    out = tmp_path / f"picture.{form}"
    assert evaluate.main(["--run", str(run.path), f"--{what}", "--out", str(out)]) == 0
    assert f"The picture is {out}." in capsys.readouterr().out
    first, result = out.read_bytes(), json.loads(out.with_suffix(".json").read_text())
    assert first.startswith(b"\x89PNG" if form == "png" else b"<?xml")
    assert (result["tasks"], result["protocol"]) == (4, "standard")
    assert evaluate.main(["--run", str(run.path), f"--{what}", "--out", str(out)]) == 0
    assert out.read_bytes() == first


def test_a_network_without_competition_has_no_winners():
    made, _ = learner_of(network={"name": "mlp", "units": [4]}, learner={"name": "reptile", "inner_steps": 1})
    with pytest.raises(UserError, match="the network has no competing units"):
        winners.layers_of(made.network)


def test_a_picture_is_of_the_network_that_was_trained(run, tmp_path, capsys):
    status = evaluate.main(["--run", str(run.path), "--winners", "--set", "network.blocks=[2]", "--out", str(tmp_path / "a.png")])
    assert status == 2
    assert "--set can change evaluation, active_learning, task, runtime of a trained run" in capsys.readouterr().err


@pytest.mark.parametrize(("layers_of_20", "rows"), [(2, 20), (4, 5), (4, 20)])
def test_the_picture_of_winners_fits_a_screen(tmp_path, layers_of_20, rows):
    layer = {"name": "units", "blocks": 8, "competitors": 2, "unused": 0, "by_class": [[0.5] * 16] * rows, "overall": [0.5] * 16}
    result = {"name": "a", "tasks": 5, "draws": 4, "rows": "class", "layers": [layer] * layers_of_20}
    winners_figure.draw(tmp_path / "a.png", "png", result)
    assert matplotlib.image.imread(tmp_path / "a.png").shape[0] <= 1500
