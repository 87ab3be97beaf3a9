"""`adapt_to` and `predict` with any number of examples: the unpadded numbers, one compilation, nothing kept."""

import gc
import logging
import os
import weakref

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks, random
from stochlwta_tf.learners import BMAML, LEARNERS, MAML, StochLWTA
from tests.helpers.small_learners import WAY, point_mlp, tiny_lwta


def examples(support, query, shape):
    rng = np.random.default_rng(support)
    x = rng.normal(size=(support + query, *shape)).astype("float32")
    return x[:support], rng.integers(0, WAY, support).astype("int32"), x[support:]


def made(name, convolutional):
    keras.utils.set_random_seed(0)
    options = {"weights": "gaussian", "rho_initial": -2.0} if name == "stochlwta" else {}
    options["activation"] = "stochastic_lwta"
    if convolutional:
        network, shape = networks.conv4((4, 4, 1), WAY, filters=2, **options), (4, 4, 1)
    else:
        network, shape = networks.mlp((2,), WAY, units=(4,), **options), (2,)
    return LEARNERS[name](network, inner_lr=0.01, inner_steps=2, draws=5 if name == "bmaml" else 2), shape


@pytest.mark.parametrize(
    ("name", "convolutional", "statistics"),
    [
        ("stochlwta", True, "transductive"),
        pytest.param("bmaml", False, "support", marks=pytest.mark.slow),
        pytest.param("stochlwta", False, "support", marks=pytest.mark.slow),
        pytest.param("maml", True, "support", marks=pytest.mark.slow),
        pytest.param("abml", False, "support", marks=pytest.mark.slow),
        pytest.param("platipus", False, "support", marks=pytest.mark.slow),
    ],
)
def test_every_number_of_examples_gives_the_numbers_of_its_own_and_shares_one_program(name, convolutional, statistics):
    """The oracle is the method called eagerly: noise, batch statistics, means and KLs are those of the examples alone."""
    learner, shape = made(name, convolutional)
    psi, state = learner.current_values()
    key = random.key_from_seed(0)
    for support, query in ((3, 1), (5, 7)):
        x, y, query_x = examples(support, query, shape)
        got = learner.adapt_to(x, y, batch_statistics=statistics).predict(query_x).draws
        adapted, new_state = learner.adapt(psi, state, tf.constant(x), tf.constant(y), key)
        how = {"batch_statistics": statistics} if convolutional else {}
        expected = learner.predict_adapted(adapted, new_state, tf.constant(x), tf.constant(query_x), key, **how)
        np.testing.assert_allclose(got, expected, atol=2e-5, rtol=1e-4)
    asked = statistics if convolutional else None
    for function in ("adapt_to", f"predict_adapted, {asked}"):
        assert learner.compiled_function(function, None).experimental_get_tracing_count() == 1


def test_noise_of_a_size_known_only_at_run_time_is_that_of_a_fixed_size():
    key = random.key_from_seed(3)
    open_size = tf.function(lambda n: random.uniform(key, [n, 3]))
    keys = random.split(key, 2)
    stacked = tf.function(lambda n: random.uniform(keys, [n, 3]))
    for n in (1, 2, 5, 8, 11, 43):
        np.testing.assert_array_equal(open_size(tf.constant(n)), random.uniform(key, [n, 3]))
        np.testing.assert_array_equal(stacked(tf.constant(n)), random.uniform(keys, [n, 3]))


def test_a_gamma_prior_weighs_as_much_as_the_examples_that_there_are():
    learner = BMAML(point_mlp(), particles=2, prior="gamma", inner_loss="mean", inner_lr=0.1, inner_steps=2)
    x, y, query_x = examples(6, 2, (2,))
    psi, state = learner.current_values()
    key = random.key_from_seed(0)
    adapted, state = learner.adapt(psi, state, tf.constant(x), tf.constant(y), key)
    expected = learner.predict_adapted(adapted, state, tf.constant(x), tf.constant(query_x), key)
    np.testing.assert_allclose(learner.adapt_to(x, y).predict(query_x).draws, expected, atol=1e-5)


def test_a_learned_noise_is_read_off_any_number_of_queries():
    learner = MAML(networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", learn_noise_std=True, noise_std=0.5, inner_steps=1)
    x = np.linspace(-1, 1, 7, dtype="float32")[:, None]
    adapted = learner.adapt_to(x, np.sin(x))
    for n in (1, 4, 7):
        prediction = adapted.predict(x[:n])
        assert prediction.mean.shape == (n, 1) and prediction.noise_std.shape == (1, n, 1)


def test_networks_of_inputs_of_any_length_take_them():
    network = keras.Sequential([keras.Input((None, 2)), keras.layers.GlobalAveragePooling1D(), keras.layers.Dense(WAY)])
    learner = MAML(network, inner_steps=1)
    for length in (2, 5):
        x = np.ones((3, length, 2), "float32")
        assert learner.adapt_to(x, [0, 1, 2]).predict(x).mean.shape == (3, WAY)
    with pytest.raises(ValueError, match=r"`support_x` must have the shape \[examples, None, 2\]"):
        learner.adapt_to(np.ones((3, 2, 3)), [0, 1, 2])


def test_learners_that_are_dropped_are_freed():
    learner = StochLWTA(tiny_lwta(), inner_steps=1)
    x, y, query_x = examples(4, 3, (2,))
    adapted = learner.adapt_to(x, y)
    adapted.predict(query_x)
    left = [weakref.ref(each) for each in (learner, learner.network, adapted, learner.with_options(draws=2))]
    del learner, adapted
    gc.collect()
    assert [each() for each in left] == [None] * len(left)


@pytest.mark.slow
def test_tensorflow_warns_of_no_retracing(caplog):
    """Each learner traces its functions once; TensorFlow counts traces by code, of which all learners have the same."""
    tf.get_logger().addHandler(caplog.handler)
    try:
        with caplog.at_level(logging.WARNING, logger="tensorflow"):
            for n in range(7):
                x, y, query_x = examples(3 + n, 2 + n, (2,))
                MAML(point_mlp(), inner_steps=1).adapt_to(x, y).predict(query_x)
    finally:
        tf.get_logger().removeHandler(caplog.handler)
    assert "retracing" not in caplog.text


def resident():
    """Resident memory of this process in MiB."""
    with open(f"/proc/{os.getpid()}/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


@pytest.mark.slow
@pytest.mark.skipif(not os.path.exists("/proc/self/statm"), reason="needs /proc")
def test_memory_is_flat_over_ten_thousand_adaptations_and_two_hundred_learners():
    learner = StochLWTA(tiny_lwta(), inner_steps=1)

    def adapt(times):
        for i in range(times):
            x, y, query_x = examples(2 + i % 50, 1 + (7 * i) % 50, (2,))
            learner.adapt_to(x, y, seed=i).predict(query_x)

    adapt(200)  # every size has come
    before = resident()
    adapt(10_000)
    grown = resident() - before
    assert grown < 30, f"{grown:.0f} MiB"

    def make(times):
        for _ in range(times):
            x, y, query_x = examples(4, 3, (2,))
            MAML(point_mlp(), inner_steps=1).adapt_to(x, y).predict(query_x)
        gc.collect()

    make(20)
    before = resident()
    make(200)
    grown = resident() - before
    assert grown < 60, f"{grown:.0f} MiB"
