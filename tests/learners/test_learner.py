"""What all learners share: fitting, evaluating, adapting, predicting, saving."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf import networks, random
from stochlwta_tf.learners import MAML, MetaLearner, Reptile, StochLWTA
from stochlwta_tf.learners.non_finite import explain_failure
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_learners import QUERY, WAY, bits_of, point_classes, point_mlp, tiny_lwta
from tests.helpers.small_tasks import one

tfd = tfp.distributions


@pytest.fixture(scope="module")
def learner():
    """One compiled learner for the tests that only use it."""
    learner = StochLWTA(tiny_lwta(rho_initial=-2.0), inner_lr=0.05, inner_steps=3, draws=4)
    learner.compile(keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(0.25, 4, 0.0)))
    return learner


def test_fit_moves_psi_towards_the_mean_of_the_adapted_weights(learner):
    batches = [point_classes(2, seed=s) for s in range(2)]
    start = [v.numpy() for v in learner.trainable_variables]
    psi, state = learner.current_values()
    for beta, tasks in zip((0.25, 0.1875), batches):
        adapted = [learner.adapt(psi, state, t.support_x, t.support_y, t.key)[0] for t in (one(tasks, 0), one(tasks, 1))]
        psi = [p + beta * ((a + b) / 2 - p) for p, a, b in zip(psi, *adapted)]
    data = tf.data.Dataset.from_tensor_slices({k: np.stack(v) for k, v in zip(Task._fields, zip(*batches))})
    history = learner.fit(data, verbose=0).history
    assert set(history) == {"loss", "support_accuracy", "gradient_norm"}
    assert int(learner.optimizer.iterations) == 2
    for before, v, expected in zip(start, learner.trainable_variables, psi):
        np.testing.assert_allclose(v, expected, atol=1e-6)
        assert not np.array_equal(v, before)


def test_validation_scores_the_queries_of_adapted_networks(learner):
    tasks = point_classes(2, seed=5)
    logs = learner.evaluate(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0, return_dict=True)
    draws = learner.predict_tasks(tasks).numpy()
    predictive = learner.predictive(draws).numpy()
    assert float(logs["accuracy"]) == pytest.approx(np.mean(predictive.argmax(-1) == tasks.query_y))
    np.testing.assert_allclose(predictive, tf.nn.softmax(draws.mean(1)), rtol=1e-5)
    logp = tf.nn.log_softmax(draws).numpy()
    chosen = np.take_along_axis(logp, tasks.query_y.numpy()[:, None, :, None].repeat(4, 1), -1)
    assert float(logs["loss"]) == pytest.approx(-chosen.mean(), rel=1e-5)


def test_adapting_and_predicting_leave_the_learner_bit_by_bit(learner):
    before = bits_of(learner)
    tasks = point_classes(2, seed=7)
    draws = learner.predict_tasks(tasks).numpy()
    adapted = learner.adapt_to(tasks.support_x[0].numpy(), tasks.support_y[0].numpy(), seed=3)
    prediction = adapted.predict(tasks.query_x[0].numpy())
    assert bits_of(learner) == before
    assert prediction.draws.shape == (4, QUERY, WAY) and prediction.mean.shape == (QUERY, WAY)
    assert len(np.unique(prediction.draws[:, 0, 0])) > 1
    np.testing.assert_allclose(prediction.mean, tf.nn.softmax(prediction.draws.mean(0)), rtol=1e-5)
    np.testing.assert_array_equal(adapted.predict(tasks.query_x[0].numpy()).draws, prediction.draws)
    other = learner.adapt_to(tasks.support_x[0].numpy(), tasks.support_y[0].numpy(), seed=4)
    assert not np.array_equal(other.predict(tasks.query_x[0].numpy()).draws, prediction.draws)
    np.testing.assert_array_equal(learner.predict_tasks(tasks), draws)


@pytest.mark.badinput
def test_a_learner_computes_its_own_loss():
    learner = Reptile(point_mlp())
    with pytest.raises(ValueError, match="Received: loss$"):
        learner.compile("sgd", loss="mse")
    with pytest.raises(ValueError, match="Received: metrics$"):
        learner.compile("sgd", metrics=["accuracy"])


@pytest.mark.badinput
def test_keras_batch_normalisation_is_refused_wherever_it_is():
    inner = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3), keras.layers.BatchNormalization()])
    nested = keras.Sequential([keras.Input((2,)), inner, keras.layers.Dense(3)])
    wrapped = keras.Sequential(
        [keras.Input((4, 2)), keras.layers.TimeDistributed(keras.layers.BatchNormalization()), keras.layers.Dense(3)]
    )
    for network in (nested, wrapped):
        with pytest.raises(ValueError, match=r"must be `stochlwta_tf.layers.BatchNormalization`.*Received: <BatchNormalization"):
            Reptile(network)


def test_a_batch_of_an_unknown_number_of_tasks_is_refused(learner):
    data = tf.data.Dataset.from_tensor_slices(point_classes(3)._asdict()).batch(2)
    with pytest.raises(ValueError, match=r"`dataset.batch\(tasks, drop_remainder=True\)`. Received: None"):
        learner.fit(data, verbose=0)


@pytest.mark.badinput
def test_a_network_without_weights_is_refused():
    with pytest.raises(ValueError, match="has no trainable weights"):
        Reptile(keras.Sequential([keras.Input((2,)), keras.layers.ReLU()]))


def test_a_method_that_is_not_written_says_so():
    learner = MetaLearner(point_mlp())
    with pytest.raises(NotImplementedError, match="MetaLearner must implement adapt"):
        learner.adapt(*learner.current_values(), None, None, None)
    with pytest.raises(NotImplementedError, match="MetaLearner must implement task_update"):
        learner.task_update(*learner.current_values(), None)


LOAD = """
import sys, keras, numpy as np
import stochlwta_tf
learner = keras.saving.load_model(sys.argv[1])
data = np.load(sys.argv[2])
prediction = learner.adapt_to(data["support_x"], data["support_y"]).predict(data["query_x"])
np.savez(sys.argv[3], draws=prediction.draws, mean=prediction.mean, iterations=learner.optimizer.iterations.numpy())
"""


def test_a_saved_learner_predicts_the_same_in_a_fresh_process(learner, tmp_path):
    task = one(point_classes(1, seed=9), 0)
    arrays = {name: getattr(task, name).numpy() for name in ("support_x", "support_y", "query_x")}
    expected = learner.adapt_to(arrays["support_x"], arrays["support_y"]).predict(arrays["query_x"])
    learner.save(tmp_path / "model.keras")
    np.savez(tmp_path / "task.npz", **arrays)
    files = [str(tmp_path / name) for name in ("model.keras", "task.npz", "result.npz")]
    subprocess.run([sys.executable, "-c", LOAD, *files], check=True, capture_output=True)
    result = np.load(files[2])
    np.testing.assert_array_equal(result["draws"], expected.draws)
    np.testing.assert_array_equal(result["mean"], expected.mean)
    assert result["iterations"] == learner.optimizer.iterations
    again = keras.saving.load_model(files[0])
    assert again.get_config()["draws"] == 4 and again.inner_lr == 0.05
    assert again.optimizer.get_config() == learner.optimizer.get_config()


def test_nan_in_a_support_set_stops_training_before_the_weights(learner):
    tasks = point_classes(2)
    x = tasks.support_x.numpy()
    x[1, 2, 0] = np.nan
    tasks = tasks._replace(support_x=tf.constant(x))
    before = bits_of(learner)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    assert bits_of(learner)[: len(learner.trainable_variables)] == before[: len(learner.trainable_variables)]
    assert explain_failure(learner, tasks) == "task 1, inner step 0: negative log-likelihood"


def test_a_joint_loss_counts_the_weights_once_and_the_examples_all():
    """KL[q(w) || p(w)] does not depend on data; the KL of winners, and an activity regularizer, are sums over examples."""
    keras.utils.set_random_seed(0)
    network = networks.mlp((2,), WAY, units=(4,), activation="stochastic_lwta", weights="gaussian", winners_kl_weight=0.5, rho_initial=-1.0)
    learner = MAML(network)
    task = one(point_classes(1), 0)
    psi, state = learner.current_values()
    terms = {}
    learner.sum_terms = lambda named: terms.update(named) or tf.add_n(list(named.values()))
    learner.joint_loss(psi, state, task, task.key, "sum", "joint")
    terms = {name: float(value) for name, value in terms.items()}
    for layer in ("hidden1", "output"):
        gaussian = network.get_layer(layer)
        expected = tfd.kl_divergence(gaussian.posterior(), gaussian.prior())
        assert terms[f"joint: loss of the weights of {layer}"] == pytest.approx(float(expected), rel=1e-5)
    passes = [
        learner.call_network(psi, state, x, random.fold_in(task.key, i), training=True)[2].examples["units1"]
        for i, x in enumerate((task.support_x, task.query_x))
    ]
    assert terms["joint: loss of units1"] == pytest.approx(float(sum(passes)), rel=1e-5)


def test_a_network_that_samples_is_averaged_over_four_draws():
    for activation, weights, draws in (("relu", "point", 1), ("stochastic_lwta", "point", 4), ("relu", "gaussian", 4)):
        network = networks.mlp((2,), WAY, units=(4,), activation=activation, weights=weights)
        nested = keras.Sequential([keras.Input((2,)), network])
        assert MAML(network).draws == Reptile(nested).draws == draws
        assert MAML(network, draws=2).draws == 2
    assert MAML(networks.mlp((2,), WAY, units=(4,), weights="gaussian", predict_with="mean")).draws == 1


def test_validation_leaves_diverged_tasks_out_and_says_how_many():
    learner = Reptile(point_mlp(), inner_lr=0.1, inner_steps=1)
    learner.compile("sgd")
    tasks = point_classes(4)
    x = tasks.support_x.numpy()
    x[1, 2, 0] = np.nan
    some = tasks._replace(support_x=tf.constant(x))
    logs = learner.evaluate(tf.data.Dataset.from_tensors(some._asdict()), verbose=0, return_dict=True)
    whole = [learner.task_evaluate(*learner.current_values(), one(tasks, i)) for i in (0, 2, 3)]
    assert logs["diverged"] == 0.25
    assert float(logs["loss"]) == pytest.approx(np.mean([w[0] for w in whole]), rel=1e-5)
    assert float(logs["accuracy"]) == pytest.approx(np.mean([w[1] for w in whole]), rel=1e-5)
    none = tasks._replace(support_x=tf.fill(tasks.support_x.shape, np.nan))
    logs = learner.evaluate(tf.data.Dataset.from_tensors(none._asdict()), verbose=0, return_dict=True)
    assert logs["diverged"] == 1 and np.isnan(logs["accuracy"]) and np.isnan(logs["loss"])
