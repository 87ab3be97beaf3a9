"""What a user predicts: whose batch statistics a query gets, and inputs that are refused."""

import keras
import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.errors import NonFiniteError
from stochlwta_tf.layers.batch_normalization import stored_statistics
from stochlwta_tf.learners import LEARNERS, Reptile
from tests.helpers.small_learners import point_mlp
from tests.helpers.small_tasks import image_tasks, one


def images(**options):
    """A learner with batch normalisation, and a task of 3 support and 6 query images."""
    keras.utils.set_random_seed(0)
    network = networks.conv4((8, 8, 1), 3, filters=4, activation="tanh")
    task = one(image_tasks("float32"), 0)
    return Reptile(network, inner_lr=0.05, inner_steps=2, **options), task.support_x.numpy(), task.support_y.numpy(), task.query_x.numpy()


@pytest.mark.parametrize("name", ["stochlwta", *(pytest.param(n, marks=pytest.mark.slow) for n in ("abml", "bmaml", "platipus"))])
def test_a_query_alone_is_predicted_as_among_others(name):
    _, support_x, support_y, query_x = images()
    network = networks.conv4((8, 8, 1), 3, filters=4, activation="tanh")
    adapted = LEARNERS[name](network, likelihood="categorical", inner_lr=0.01, inner_steps=1).adapt_to(support_x, support_y)
    together = adapted.predict(query_x).mean
    np.testing.assert_allclose(np.concatenate([adapted.predict(x[None]).mean for x in query_x]), together, atol=1e-5)


@pytest.mark.parametrize("trained", ["support", "transductive"])
@pytest.mark.parametrize("asked", ["support", "transductive"])
def test_whose_statistics_a_query_gets_is_said_where_it_is_adapted(trained, asked):
    learner, support_x, support_y, query_x = images(batch_statistics=trained)
    before = [w.tobytes() for w in learner.get_weights()]
    adapted = learner.adapt_to(support_x, support_y, batch_statistics=asked)
    together, alone = adapted.predict(query_x).mean, adapted.predict(query_x[:1]).mean
    assert np.ptp(together, axis=0).min() > 0.01
    assert np.allclose(alone[0], together[0], atol=1e-5) == (asked == "support")
    assert [w.tobytes() for w in learner.get_weights()] == before

    twin = keras.models.clone_model(learner.network)  # the adapted network, run by hand
    for variable, value in zip(twin.trainable_variables, adapted.adapted, strict=True):
        variable.assign(value)
    if asked == "support":
        twin(support_x)
        with stored_statistics():
            outputs = twin(query_x)
    else:
        outputs = twin(query_x)
    np.testing.assert_allclose(adapted.predict(query_x).draws[0], outputs, atol=1e-5)


def test_tests_go_by_the_learners_own_statistics():
    tasks = image_tasks("float32")
    for own in ("support", "transductive"):
        learner = images(batch_statistics=own)[0]
        for i, draws in enumerate(learner.predict_tasks(tasks).numpy()):
            task = one(tasks, i)
            adapted = learner.adapt_to(task.support_x.numpy(), task.support_y.numpy(), batch_statistics=own)
            np.testing.assert_allclose(adapted.predict(task.query_x.numpy()).draws, draws, atol=1e-5)


@pytest.mark.badinput
def test_statistics_of_another_name_are_refused():
    learner, support_x, support_y, _ = images()
    with pytest.raises(ValueError, match="`batch_statistics` must be one of support, transductive. Received: batch_statistics='query'$"):
        learner.adapt_to(support_x, support_y, batch_statistics="query")


@pytest.mark.badinput
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e39])
def test_what_is_not_finite_is_refused(value):
    learner = Reptile(networks.mlp((2,), 1, units=(2,)), likelihood="gaussian")
    x, y = np.zeros((3, 2)), np.zeros((3, 1))
    wrong_x, wrong_y = x.copy(), y.copy()
    wrong_x[1, 0] = wrong_y[2, 0] = value
    shown = {np.inf: "inf", -np.inf: "-inf", 1e39: "inf"}.get(value, "nan")
    with pytest.raises(ValueError, match=f"`support_x` must be finite. Received: 1 of 6 values .* at \\[1, 0\\]: {shown}$"):
        learner.adapt_to(wrong_x, y)
    with pytest.raises(ValueError, match=f"`support_y` must be finite. Received: 1 of 3 values .* at \\[2, 0\\]: {shown}$"):
        learner.adapt_to(x, wrong_y)
    with pytest.raises(ValueError, match="`query_x` must be finite. Received: 1 of 6 values"):
        learner.adapt_to(x, y).predict(wrong_x)


def test_predictions_that_are_not_finite_are_no_prediction():
    """Probabilities of NaN have their largest at class 0."""
    keras.utils.set_random_seed(0)
    learner = Reptile(networks.mlp((2,), 1, units=(4,), activation="relu"), likelihood="gaussian", inner_lr=1e6, inner_steps=50)
    x = np.random.default_rng(0).normal(size=(5, 2))
    adapted = learner.adapt_to(x, x[:, :1])
    with pytest.raises(NonFiniteError, match=r"diverged on this support set, at inner_lr=1000000.0.*NaN or infinity for 3 of 3 queries$"):
        adapted.predict(x[:3])


@pytest.mark.badinput
def test_what_is_no_number_is_refused():
    learner = Reptile(networks.mlp((2,), 1, units=(2,)), likelihood="gaussian")
    with pytest.raises(ValueError, match="`support_x` must hold numbers. Received: dtype=<U1$"):
        learner.adapt_to(np.full((3, 2), "a"), np.zeros((3, 1)))
    with pytest.raises(ValueError, match="`support_y` must hold numbers. Received: dtype=object$"):
        learner.adapt_to(np.zeros((3, 2)), np.full((3, 1), None))


X, Y = np.zeros((4, 2), "float32"), np.array([0, 1, 2, 0])


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:, :1], Y, r"`support_x` must have the shape \[examples, 2\], with at least one example. Received: shape=\(4, 1\)"),
        (X[0], Y, r"Received: shape=\(2,\)"),
        (X, Y[:3], "`support_y` must have a label for each of the 4 support inputs. Received: 3 labels$"),
        (X, Y + 1, r"integers from 0 to 2.* values from 1 to 3"),
        (X, Y.astype("float32"), "Received: .*dtype=float32"),
        (X[:0], Y[:0], r"at least one example. Received: shape=\(0, 2\)"),
        (X, Y[:0], "Received: 0 labels$"),
        (X, np.array(["a", "b", "c", "d"]), "at most 3 classes, .* Received: 4 classes$"),
        (X, np.array([["a", "b", "c", "a"]]), r"Received: shape=\(1, 4\), dtype=<U1$"),
    ],
)
def test_a_support_set_that_does_not_fit_is_refused(x, y, message):
    with pytest.raises(ValueError, match=message):
        Reptile(point_mlp()).adapt_to(x, y)


@pytest.mark.badinput
def test_targets_and_queries_that_do_not_fit_are_refused():
    with pytest.raises(ValueError, match=r"`query_x` must have the shape \[examples, 2\], .* Received: shape=\(4, 3\)"):
        Reptile(point_mlp(), inner_steps=0).adapt_to(X, Y).predict(np.zeros((4, 3)))
    regression = Reptile(networks.mlp((2,), 1, units=(2,)), likelihood="gaussian")
    with pytest.raises(ValueError, match=r"`support_y` must have the shape \[4, 1\]. Received: shape=\(4,\)"):
        regression.adapt_to(X, np.zeros(4))
