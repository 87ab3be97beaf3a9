"""The noise: published test vectors, distributions, independence, and one value in every way of running it."""

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from stochlwta_tf import random

KEY = random.fold_in(random.key_from_seed(0), 17)
LAWS = [(random.uniform, stats.uniform), (random.normal, stats.norm), (random.gumbel, stats.gumbel_r)]


@pytest.mark.parametrize(
    ("key", "counter", "expected"),
    [  # known-answer tests of the Random123 library, threefry2x32 with 20 rounds
        ((0x00000000, 0x00000000), (0x00000000, 0x00000000), (0x6B200159, 0x99BA4EFE)),
        ((0xFFFFFFFF, 0xFFFFFFFF), (0xFFFFFFFF, 0xFFFFFFFF), (0x1CB996FC, 0xBB002BE7)),
        ((0x13198A2E, 0x03707344), (0x243F6A88, 0x85A308D3), (0xC4923A9C, 0x483DF7A0)),
    ],
)
@pytest.mark.parametrize("dtype", [tf.uint32, tf.int64])
def test_threefry_is_the_published_one(key, counter, expected, dtype):
    words = random.threefry2x32(tf.constant(key, dtype), *tf.constant([[counter[0]], [counter[1]]], tf.uint32))
    assert tuple(int(w[0]) for w in words) == expected


@pytest.mark.parametrize("compiled", [False, True])
def test_the_extreme_words_give_finite_noise(monkeypatch, compiled):
    words = tf.constant([0x00000000, 0x000001FF, 0xFFFFFE00, 0xFFFFFFFF], tf.uint32)
    monkeypatch.setattr(random, "bits", lambda key, shape: words)
    draw = tf.function(lambda: (random.uniform(KEY, [4]), random.normal(KEY, [4]), random.gumbel(KEY, [4])), jit_compile=compiled)
    u, normal, gumbel = (t.numpy().astype("float64") for t in draw())
    assert 0 < u.min() and u.max() < 1
    assert np.isfinite(normal).all() and np.isfinite(gumbel).all()
    np.testing.assert_allclose(normal, stats.norm.ppf(u), rtol=1e-4)
    np.testing.assert_allclose(gumbel, stats.gumbel_r.ppf(u), rtol=1e-4)


@pytest.mark.parametrize(("draw", "law"), LAWS)
def test_the_noise_has_its_distribution(draw, law):
    n = 200_000
    noise = draw(KEY, (n,)).numpy().astype("float64")
    assert stats.kstest(noise, law.cdf).pvalue > 0.01
    assert noise.mean() == pytest.approx(law.mean(), abs=4 * law.std() / np.sqrt(n))
    assert noise.std() == pytest.approx(law.std(), rel=0.02)
    for p in (1e-4, 1e-3):  # a tail holds n p values, give or take their Poisson noise
        assert np.sum(noise < law.ppf(p)) == pytest.approx(n * p, abs=4 * np.sqrt(n * p))
        assert np.sum(noise > law.isf(p)) == pytest.approx(n * p, abs=4 * np.sqrt(n * p))


def test_every_bit_is_set_half_of_the_time():
    words = np.unpackbits(random.bits(KEY, (50_000,)).numpy().view("uint8")).reshape(-1, 32)
    assert np.abs(words.mean(0) - 0.5).max() < 4.5 * 0.5 / np.sqrt(50_000)


def test_streams_are_uncorrelated():
    keys = [KEY, random.fold_in(KEY, 0), random.fold_in(KEY, 1), random.fold_in(KEY, 0, tag=1), KEY + tf.constant([0, 1], tf.uint32)]
    noise = np.stack([random.normal(k, (50_000,)).numpy() for k in keys])
    noise = np.concatenate([noise, np.roll(noise, 1, axis=1)])  # and with the neighbours in a stream
    correlation = np.corrcoef(noise)[np.triu_indices(len(noise), 1)]
    assert np.abs(correlation).max() < 4.5 / np.sqrt(50_000)


def test_split_is_fold_in_row_by_row():
    keys = random.split(KEY, 5, tag=3).numpy()
    np.testing.assert_array_equal(keys, [random.fold_in(KEY, i, tag=3) for i in range(5)])
    assert len(np.unique(np.concatenate([keys, random.split(KEY, 5, tag=4)]), axis=0)) == 10


def test_a_seed_gives_its_64_bits():
    assert random.key_from_seed(2**32 + 5).numpy().tolist() == [1, 5]
    assert random.key_from_seed(-1).numpy().tolist() == [0xFFFFFFFF, 0xFFFFFFFF]


def test_eager_graph_xla_and_vectorized_map_agree():
    keys = random.split(KEY, 3)

    def draw(key):
        return random.bits(key, (5, 3)), random.normal(key, (5, 3)), random.gumbel(key, (5, 3))

    eager = [np.stack(t) for t in zip(*(draw(k) for k in keys))]

    def mapped(keys):
        return tf.vectorized_map(draw, keys, fallback_to_while_loop=False)

    def one_by_one(keys):
        return [tf.stack(t) for t in zip(*(draw(k) for k in tf.unstack(keys)))]

    for function in (tf.function(one_by_one), tf.function(one_by_one, jit_compile=True), tf.function(mapped, jit_compile=True), mapped):
        words, *noise = function(keys)
        np.testing.assert_array_equal(words, eager[0])
        for ours, expected in zip(noise, eager[1:]):
            np.testing.assert_allclose(ours, expected, atol=2e-5)


def test_a_size_known_only_at_run_time():
    @tf.function(input_signature=[tf.TensorSpec([None, 3])])
    def draw(x):
        return random.normal(KEY, [tf.shape(x)[0], 3])

    for n in (1, 4, 5):
        np.testing.assert_allclose(draw(tf.zeros([n, 3])), random.normal(KEY, (n, 3)), atol=1e-6)


def test_stacked_keys_give_each_its_own_numbers():
    keys = random.split(KEY, 6)
    for shape in ((), (5,), (3, 2)):
        expected = np.stack([random.uniform(k, shape) for k in keys])
        np.testing.assert_array_equal(random.uniform(keys, shape), expected)
        np.testing.assert_array_equal(random.uniform(tf.reshape(keys, [3, 2, 2]), shape), expected.reshape(3, 2, *shape))
    np.testing.assert_array_equal(random.fold_in(keys, 7, tag=2), [random.fold_in(k, 7, tag=2) for k in keys])
    np.testing.assert_array_equal(random.fold_in(KEY, tf.range(4), tag=1), random.split(KEY, 4, tag=1))
