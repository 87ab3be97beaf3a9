import numpy as np
import pytest
from scipy import optimize, stats

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.tasks import Sinusoid


def fit(x, y):
    """Amplitude, phase and frequency of a noise-free curve: for a frequency, least squares has a closed form; search over it."""

    def solve(omega):
        basis = np.stack([np.sin(omega * x), np.cos(omega * x)], axis=1)
        cos, sin = np.linalg.lstsq(basis, y, rcond=None)[0]  # y = A cos b sin(omega x) + A sin b cos(omega x)
        return np.sum((basis @ [cos, sin] - y) ** 2), np.hypot(cos, sin), np.arctan2(sin, cos) % (2 * np.pi)

    grid = np.linspace(0.4, 2.1, 171)
    near = min(grid, key=lambda omega: solve(omega)[0])
    omega = optimize.minimize_scalar(lambda w: solve(w)[0], bounds=(near - 0.02, near + 0.02), method="bounded", options={"xatol": 1e-9}).x
    cost, amplitude, phase = solve(omega)
    assert cost < 1e-8
    return amplitude, phase, omega


@pytest.mark.parametrize("setting, phase_bound", [("default", np.pi), ("challenging", 2 * np.pi)])
def test_queries_are_noise_free_sinusoids_with_uniform_parameters(setting, phase_bound):
    task = Sinusoid("test", 200, 0, setting=setting).sample(0)
    curves = zip(task.query_x.numpy()[..., 0], task.query_y.numpy()[..., 0], strict=True)
    amplitude, phase, omega = np.transpose([fit(x.astype("float64"), y.astype("float64")) for x, y in curves])
    assert stats.kstest(amplitude, stats.uniform(0.1, 4.9).cdf).pvalue > 1e-3
    assert stats.kstest(phase, stats.uniform(0, phase_bound).cdf).pvalue > 1e-3
    if setting == "default":
        np.testing.assert_allclose(omega, 1, atol=1e-4)
    else:
        assert stats.kstest(omega, stats.uniform(0.5, 1.5).cdf).pvalue > 1e-3


def test_noise_is_on_the_support_alone_and_scales_with_the_amplitude():
    """Noise is what the support's y differ from the curve that the queries lie on."""
    for setting, expected in (("default", 0.0), ("challenging", 0.01)):
        task = Sinusoid("train", 200, 0, setting=setting, shot=40, train_queries=60).sample(0)
        ratios = []
        for i in range(60):
            x, y = (np.asarray(v[i, :, 0], "float64") for v in (task.query_x, task.query_y))
            amplitude, phase, omega = fit(x, y)
            noise = task.support_y[i, :, 0] - amplitude * np.sin(omega * np.asarray(task.support_x[i, :, 0], "float64") + phase)
            ratios.append(np.asarray(noise) / amplitude)
        ratios = np.concatenate(ratios)
        assert abs(ratios.std() - expected) < 5e-4 and abs(ratios.mean()) < 1e-3
        if expected:
            assert stats.kstest(ratios / expected, "norm").pvalue > 1e-3


def test_x_is_uniform_in_training_and_even_in_evaluation():
    train, test = Sinusoid("train", 500, 0).sample(0), Sinusoid("validation", 500, 0).sample(0)
    for x in (train.support_x, train.query_x, test.support_x):
        assert stats.kstest(x.numpy().ravel(), stats.uniform(-5, 10).cdf).pvalue > 1e-3
    assert np.abs(np.corrcoef(train.support_x[..., 0].numpy().T, train.query_x[..., 0].numpy().T) - np.eye(20)).max() < 0.2
    np.testing.assert_allclose(test.query_x, np.broadcast_to(np.linspace(-5, 5, 100)[:, None], (500, 100, 1)), atol=1e-6)


def test_shapes_and_options():
    tasks = Sinusoid("train", 4, 0, shot=5, train_queries=0)
    task = tasks.sample(0)
    assert tasks.kind == "regression" and tasks.input_shape == (1,) and tasks.outputs == 1
    assert task.support_x.shape == task.support_y.shape == (4, 5, 1) and task.query_x.shape == (4, 0, 1) and task.key.shape == (4, 2)
    with pytest.raises(ConfigurationError, match="setting must be one of default, challenging. Received: setting=hard."):
        Sinusoid("train", 4, 0, setting="hard")
    with pytest.raises(ConfigurationError, match="shot must be at least 1. Received: shot=0."):
        Sinusoid("train", 4, 0, shot=0)


def test_a_batch_is_a_function_of_split_seed_and_index():
    def support(split="train", seed=0, index=0):
        return Sinusoid(split, 4, seed).sample(index).support_y.numpy()

    np.testing.assert_array_equal(support(), support())
    for other in (support("test"), support(seed=1), support(index=1)):
        assert np.all(support() != other)


@pytest.mark.parametrize("split", ["train", "test"])
def test_the_same_seed_is_the_same_tasks_whatever_the_batch(split):
    batches = {n: Sinusoid(split, n, 5, setting="challenging") for n in (1, 20, 25, 50)}
    fields = {n: [np.concatenate(c) for c in zip(*(t.sample(i) for i in range(100 // n)), strict=True)] for n, t in batches.items()}
    for found in fields.values():
        for array, expected in zip(found, fields[50], strict=True):
            np.testing.assert_allclose(array, expected, atol=1e-6)
    assert len(np.unique(fields[1][-1], axis=0)) == 100  # a key of its own for each task


@pytest.mark.parametrize("options", [{"split": "test"}, {"split": "train"}, {"split": "train", "train_queries": 0, "train_shot": 50}])
def test_the_batches_of_a_dataset_are_those_that_are_sampled(options):
    tasks = Sinusoid(batch=5, seed=0, setting="challenging", **options)
    for i, batch in enumerate(tasks.dataset(stop=2)):
        for found, expected in zip(batch.values(), tasks.sample(i), strict=True):
            np.testing.assert_allclose(found, expected, atol=1e-6)
