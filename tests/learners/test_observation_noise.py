"""Every learner with a learned observation noise."""

import keras
import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.learners import LEARNERS
from tests.helpers.small_tasks import line_task, one, point_tasks


def test_one_inner_step_moves_the_std_by_its_gradient(float64):
    """d nll / d log sigma = n − sum (y − f)² / sigma²."""
    task = line_task()
    learner = LEARNERS["maml"](
        networks.mlp((1,), 1, units=(3,)),
        likelihood="gaussian",
        noise_std=0.8,
        learn_noise_std=True,
        inner_lr=0.01,
        inner_loss="sum",
        test_inner_steps=1,
    )
    before = learner.network(task.support_x)[:, :1]
    adapted, _ = learner.adapt(*learner.current_values(), task.support_x, task.support_y, task.key)
    gradient = 4 - np.sum((task.support_y - before) ** 2) / 0.8**2
    np.testing.assert_allclose(adapted[-1], [np.log(0.8) - 0.01 * gradient], rtol=1e-6)


def test_an_inner_step_stops_at_the_smallest_std(float64):
    task = line_task()
    learner = LEARNERS["reptile"](
        networks.mlp((1,), 1, units=(3,)), likelihood="gaussian", noise_std=100.0, learn_noise_std=True, inner_lr=100.0, inner_steps=1
    )
    adapted, _ = learner.adapt(*learner.current_values(), task.support_x, task.support_y, task.key)
    np.testing.assert_allclose(np.exp(adapted[-1]), [0.01])


@pytest.mark.parametrize("name", [name for name in LEARNERS if name != "fomaml"])  # which is MAML of order 1
def test_every_learner_learns_saves_and_predicts_with_it(name, tmp_path):
    keras.utils.set_random_seed(0)
    options = {"inner_lr": 0.001, "inner_steps": 1, "noise_std": 0.5, "learn_noise_std": True}
    network = networks.dense_lwta((1,), 1, blocks=(2,)) if name == "stochlwta" else networks.mlp((1,), 1, units=(4,))
    learner = LEARNERS[name](network, likelihood="gaussian", **options)
    learner.compile(keras.optimizers.SGD(0.01))
    gradient, _ = learner.task_update(*learner.current_values(), one(point_tasks(), 0))
    noise = [(v, v.numpy()) for v in learner.trainable_variables if "log_noise_std" in v.path]
    learner.optimizer.apply(gradient, learner.trainable_variables)
    assert any(np.any(v.numpy() != start) for v, start in noise)
    learner.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.targets == 1 and loaded.learn_noise_std
    for a, b in zip(learner.get_weights(), loaded.get_weights(), strict=True):
        np.testing.assert_array_equal(a, b)


def test_a_prediction_has_the_means_apart_from_the_noise():
    tasks = point_tasks()
    learner = LEARNERS["reptile"](
        networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", noise_std=0.5, learn_noise_std=True, inner_steps=0
    )
    prediction = learner.adapt_to(tasks.support_x[0].numpy(), tasks.support_y[0].numpy()).predict(tasks.query_x[0].numpy())
    assert prediction.mean.shape == (5, 1) and prediction.draws.shape == (1, 5, 1)
    np.testing.assert_allclose(prediction.noise_std, np.full((1, 5, 1), 0.5), rtol=1e-6)
    np.testing.assert_allclose(prediction.mean, learner.network(tasks.query_x[0])[:, :1], rtol=1e-5)


def test_the_prediction_says_the_fixed_noise_too():
    learner = LEARNERS["maml"](networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", noise_std=0.5)
    assert learner.adapt_to(np.zeros((2, 1)), np.zeros((2, 1))).predict(np.zeros((3, 1))).noise_std == 0.5


def test_classes_have_no_noise_to_learn():
    with pytest.raises(ValueError, match="`learn_noise_std` needs regression tasks"):
        LEARNERS["maml"](networks.mlp((1,), 3, units=(4,)), learn_noise_std=True)
