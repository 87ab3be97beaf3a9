"""What all learners with a meta-loss must do."""

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf import networks
from stochlwta_tf.learners import ABML, BMAML, MAML, PLATIPUS
from stochlwta_tf.learners.meta_gradient import MetaGradientLearner, normal_kl
from stochlwta_tf.learners.non_finite import explain_failure
from stochlwta_tf.tasks import Task
from tests.helpers.small_learners import bits_of
from tests.helpers.small_tasks import image_tasks, one, point_tasks

tfd = tfp.distributions


@pytest.fixture(scope="module", params=[MAML, *(pytest.param(c, marks=pytest.mark.slow) for c in (ABML, BMAML, PLATIPUS))])
def learner(request):
    keras.utils.set_random_seed(0)
    # Of noise in the layers as well, the others take long to compile.
    activation = "stochastic_lwta" if request.param is MAML else "tanh"
    network = networks.mlp((1,), 1, units=(4,), activation=activation, winners_kl_weight=0.1)
    options = {"particles": 2} if request.param is BMAML else {}
    learner = request.param(network, likelihood="gaussian", inner_steps=1, inner_lr=0.05, parallel_tasks=1, **options)
    learner.compile(keras.optimizers.Adam(0.01))
    return learner


def test_many_tasks_at_once_are_the_tasks_one_at_a_time(learner):
    tasks, before = point_tasks(), bits_of(learner)
    gradient, (loss, score) = learner.meta_gradient(tasks)
    draws = learner.predict_tasks(tasks)
    psi, state = learner.current_values()
    alone = [learner.task_update(psi, state, one(tasks, i)) for i in range(4)]  # eagerly: neither vectorised nor XLA
    predict = tf.function(learner.task_predict, autograph=False)
    for mean, parts in zip(gradient, zip(*(g for g, _ in alone))):
        np.testing.assert_allclose(mean, sum(parts) / 4, rtol=1e-3, atol=1e-5)
    assert float(loss) == pytest.approx(np.mean([v[0] for _, v in alone]), rel=1e-4)
    assert float(score) == pytest.approx(np.mean([v[1] for _, v in alone]), rel=1e-4)
    for i in range(4):
        np.testing.assert_allclose(draws[i], predict(psi, state, one(tasks, i)), rtol=1e-4, atol=1e-5)
    assert draws.shape[1] == learner.draws
    assert bits_of(learner) == before


def test_nan_stops_training_before_the_weights_and_is_named(learner):
    tasks = point_tasks()
    x = tasks.query_x.numpy()
    x[1, 2] = np.nan
    tasks = tasks._replace(query_x=tf.constant(x))
    before = bits_of(learner)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    assert bits_of(learner)[: len(learner.trainable_variables)] == before[: len(learner.trainable_variables)]
    where = {
        MAML: "meta-loss after 1 steps: negative log-likelihood",
        ABML: "meta-loss: negative log-likelihood",
        BMAML: "leader step 0: negative log-likelihood",
        PLATIPUS: "gradient of q(theta | Q): negative log-likelihood",
    }
    assert explain_failure(learner, tasks) == f"task 1, {where[type(learner)]}"


def test_training_lowers_the_loss_and_survives_saving(learner, tmp_path):
    data = tf.data.Dataset.from_tensors(point_tasks()._asdict()).repeat()
    first, last = learner.fit(data, steps_per_epoch=30, epochs=2, verbose=0).history["loss"]
    assert last < first
    learner.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    assert {**again.get_config(), "network": None} == {**learner.get_config(), "network": None}
    assert again.optimizer.iterations == learner.optimizer.iterations
    for ours, expected in zip(again.get_weights(), learner.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, expected)


def test_tasks_without_queries_are_refused(learner):
    tasks = point_tasks()
    tasks = tasks._replace(query_x=tasks.query_x[:, :0], query_y=tasks.query_y[:, :0])
    with pytest.raises(ValueError, match="needs queries in training tasks. Received: train_queries=0"):
        learner.task_update(*learner.current_values(), one(tasks, 0))


def test_targets_of_a_million_are_learned_from_or_refused(learner):
    tasks = point_tasks()
    tasks = tasks._replace(support_y=1e6 * tasks.support_y, query_y=1e6 * tasks.query_y)
    try:
        learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    except tf.errors.InvalidArgumentError as error:
        assert "not finite" in error.message
        assert explain_failure(learner, tasks).startswith("task ")  # the first whose gradient, or its square, overflows
    assert all(np.isfinite(w).all() for w in learner.get_weights())


def test_the_kl_is_that_of_the_library():
    values = np.random.default_rng(0)
    groups = [[values.normal(size=s), values.gamma(2, size=s), values.normal(size=s), values.gamma(2, size=s)] for s in ((3, 2), (4,))]
    expected = sum(tf.reduce_sum(tfd.kl_divergence(tfd.Normal(m, s), tfd.Normal(n, t))) for m, s, n, t in groups)
    assert float(normal_kl(*zip(*groups))) == pytest.approx(float(expected))


def test_a_meta_loss_that_is_not_written_says_so():
    base = MetaGradientLearner(networks.mlp((1,), 1))
    with pytest.raises(NotImplementedError, match="MetaGradientLearner must implement meta_loss"):
        base.task_update(*base.current_values(), one(point_tasks(), 0))


@pytest.mark.parametrize("learner", [MAML, ABML, PLATIPUS])
def test_a_compiled_meta_gradient_through_two_inner_steps_of_convolutions_is_the_eager_one(learner):
    keras.utils.set_random_seed(0)
    learner = learner(networks.conv4((8, 8, 1), 3, filters=2), inner_steps=2)
    arguments, tasks = learner.current_values(), image_tasks("float32", count=1)
    gradient, (loss, _) = learner.task_runner.mean(learner.task_update)(*arguments, tasks)
    expected, (expected_loss, _) = learner.task_update(*arguments, Task(*(t[0] for t in tasks)))
    assert float(loss) == pytest.approx(float(expected_loss), rel=1e-4)
    ours, theirs = (np.concatenate([np.ravel(part) for part in parts]) for parts in (gradient, expected))
    np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=1e-3 * np.abs(theirs).max())
