"""BMAML and its Stein variational gradient descent, against NumPy, finite differences and posteriors that are known."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks
from stochlwta_tf.learners import BMAML, MAML
from stochlwta_tf.learners.stein import bandwidth, stein_direction
from stochlwta_tf.tasks import Sinusoid
from tests.helpers.small_tasks import finite_difference_error, image_tasks, line_task, one, point_tasks

RATE, NOISE_STD = 0.05, 0.75


def numpy_bandwidth(particles):
    distances = [np.linalg.norm(a - b) for i, a in enumerate(particles) for b in particles[:i]]
    return np.median(distances) ** 2 / np.log(len(particles))


def numpy_direction(particles, gradients, h):
    direction = np.zeros_like(particles)
    for m, w in enumerate(particles):
        for other, gradient in zip(particles, gradients):
            k = np.exp(-np.sum((other - w) ** 2) / h)
            direction[m] += (k * gradient - 2 / h * (other - w) * k) / len(particles)
    return direction


@pytest.mark.parametrize("count", [2, 3, 5])
def test_the_direction_is_that_of_the_formula(count):
    rng = np.random.default_rng(count)
    particles, gradients = rng.normal(size=(2, count, 3))
    squares = tf.constant(((particles[:, None] - particles) ** 2).sum(-1))
    h = numpy_bandwidth(particles)
    assert float(bandwidth(squares)) == pytest.approx(h)
    ours = stein_direction(tf.constant(particles), tf.constant(gradients))
    np.testing.assert_allclose(ours, numpy_direction(particles, gradients, h), rtol=1e-10)


def test_the_kernels_gradient_is_that_of_finite_differences():
    particles = np.random.default_rng(0).normal(size=(4, 2))
    h = numpy_bandwidth(particles)

    def kernel(w, other):
        return np.exp(-np.sum((w - other) ** 2) / h)

    expected = np.zeros((4, 2))
    for m in range(4):
        for j in range(4):
            for axis, unit in enumerate(np.eye(2) * 1e-6):
                slope = (kernel(particles[j] + unit, particles[m]) - kernel(particles[j] - unit, particles[m])) / 2e-6
                expected[m, axis] += slope / 4
    np.testing.assert_allclose(stein_direction(tf.constant(particles), tf.zeros((4, 2), tf.float64)), expected, atol=1e-9)


def test_particles_that_coincide_stay_finite():
    together = tf.ones([5, 3])
    with tf.GradientTape() as tape:
        tape.watch(together)
        direction = stein_direction(together, 2 * together)
    np.testing.assert_allclose(direction, 2 * np.ones((5, 3)), rtol=1e-6)
    assert np.isfinite(tape.gradient(direction, together)).all()


def test_particles_move_to_a_known_posterior():
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    learner = BMAML(network, likelihood="gaussian", noise_std=NOISE_STD, inner_lr=0.1, inner_steps=1500, particles=40)
    task = line_task("float32")
    adapt = tf.function(learner.adapt, autograph=False)
    (particles,), _ = adapt(*learner.current_values(), task.support_x, task.support_y, task.key)
    x, y = task.support_x.numpy(), task.support_y.numpy()
    assert np.mean(particles) == pytest.approx(np.sum(x * y) / np.sum(x**2), abs=0.01)
    assert np.var(particles) == pytest.approx(NOISE_STD**2 / np.sum(x**2), rel=0.1)


def test_one_particle_is_gradient_ascent():
    settings = {"likelihood": "gaussian", "inner_lr": 0.02, "inner_steps": 3, "inner_loss": "sum"}
    network = networks.mlp((1,), 1, units=(4,))
    task = one(point_tasks(), 0)
    bmaml, maml = BMAML(network, particles=1, **settings), MAML(network, **settings)
    (particle,), weights = (m.adapt(*m.current_values(), task.support_x, task.support_y, task.key)[0] for m in (bmaml, maml))
    np.testing.assert_allclose(particle[0], bmaml.to_vector(weights), rtol=1e-5)


@pytest.mark.parametrize("meta_loss", ["chaser", "nll"])
def test_the_meta_loss_and_its_gradient_on_one_weight(float64, meta_loss):
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    settings = {"inner_lr": RATE, "inner_steps": 1, "noise_std": NOISE_STD, "particles": 3, "meta_objective": meta_loss}
    learner = BMAML(network, likelihood="gaussian", **settings)
    start, task = np.array([[0.4], [0.9], [0.2]]), line_task()
    network.trainable_variables[0].assign(start[:1])
    learner.others[0].assign(start[1:, :, None])
    sx, sy, qx, qy = (t.numpy() for t in task[:4])

    def log_likelihood_slope(w, x, y):
        return np.array([[np.sum(x * (y - v * x)) / NOISE_STD**2] for v in w[:, 0]])

    def svgd_step(w, x, y, h):
        return w + RATE * numpy_direction(w, log_likelihood_slope(w, x, y), h)

    h = numpy_bandwidth(start)
    chaser = svgd_step(start, sx, sy, h)
    leader = svgd_step(chaser, np.concatenate([sx, qx]), np.concatenate([sy, qy]), numpy_bandwidth(chaser))

    def expected_loss(w):  # h and the leader are constants
        w = svgd_step(w, sx, sy, h)
        if meta_loss == "chaser":
            return np.sum((w - leader) ** 2)
        log_p = [np.sum(-0.5 * ((qy - v * qx) / NOISE_STD) ** 2 - np.log(NOISE_STD) - 0.5 * np.log(2 * np.pi)) for v in w[:, 0]]
        return -np.log(np.mean(np.exp(log_p))) / len(qx)

    gradient, (loss, _) = learner.task_update(*learner.current_values(), task)
    assert float(loss) == pytest.approx(expected_loss(start), rel=1e-9)
    slopes = [(expected_loss(start + d) - expected_loss(start - d)) / 2e-6 for d in 1e-6 * np.eye(3)[:, :, None]]
    first, others = learner.values_of(gradient, network.trainable_variables, learner.others)
    np.testing.assert_allclose(np.concatenate([np.ravel(first), np.ravel(others)]), slopes, rtol=1e-5)


def test_the_precision_of_the_prior_is_a_coordinate_of_each_particle(float64):
    network = keras.Sequential([keras.Input((1,)), keras.layers.Dense(1, use_bias=False)])
    learner = BMAML(network, likelihood="gaussian", particles=1, prior="gamma", inner_lr=RATE, inner_steps=1)
    network.trainable_variables[0].assign([[0.4]])
    learner.log_precisions[0].assign([0.5])
    x, y = np.array([[1.0], [2.0]]), np.array([[1.0], [0.0]])
    ((w, log_precision),) = learner.adapt(*learner.current_values(), tf.constant(x), tf.constant(y), tf.constant([1, 2], tf.uint32))[0][0]

    def log_posterior(w, log_precision):
        precision = np.exp(log_precision)
        log_gamma = 2 * np.log(2) + np.log(precision) - 2 * precision + log_precision  # of log precision, with its Jacobian
        return np.sum(-0.5 * (y - w * x) ** 2) + 0.5 * log_precision - 0.5 * precision * w**2 + log_gamma

    step = 1e-6
    assert float(w) == pytest.approx(0.4 + RATE * (log_posterior(0.4 + step, 0.5) - log_posterior(0.4 - step, 0.5)) / 2 / step)
    slope = (log_posterior(0.4, 0.5 + step) - log_posterior(0.4, 0.5 - step)) / 2 / step
    assert float(log_precision) == pytest.approx(0.5 + RATE * slope)


@pytest.mark.slow
@pytest.mark.parametrize("batch_statistics", ["support", "transductive"])
def test_meta_gradient_through_convolutions_is_that_of_finite_differences(float64, batch_statistics, monkeypatch):
    monkeypatch.setattr("stochlwta_tf.learners.stein.bandwidth", lambda squares: 30.0)  # or h would change, against its definition
    keras.utils.set_random_seed(0)
    network = networks.conv4((8, 8, 1), 3, filters=2, activation="tanh")
    learner = BMAML(network, inner_lr=0.1, inner_steps=1, particles=2, meta_objective="nll", batch_statistics=batch_statistics)
    assert finite_difference_error(learner, image_tasks(), directions=1) < 1e-5


def test_particles_start_from_the_initializers_each_on_its_own():
    network = networks.mlp((1,), 1, units=(30,), bias_initial=0.1)
    learner = BMAML(network)
    assert networks.trainable_parameters(learner) == 5 * networks.trainable_parameters(network)
    kernels = np.concatenate([network.trainable_variables[0].numpy()[None], learner.others[0].numpy()])
    limit = (6 / 31) ** 0.5  # of Glorot's uniform distribution
    assert len(np.unique(kernels)) == kernels.size and 0.8 * limit < np.abs(kernels).max() < limit
    np.testing.assert_array_equal(learner.others[1], np.full((4, 30), 0.1, "float32"))


def test_particles_of_a_network_with_seeds_differ_too():
    seeded = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, kernel_initializer=keras.initializers.GlorotUniform(seed=1))])
    learner = BMAML(seeded, particles=4)
    kernels = np.concatenate([seeded.trainable_variables[0][None], learner.others[0]])
    assert len(np.unique(kernels)) == kernels.size


@pytest.mark.slow
def test_one_particle_of_a_network_with_constraints_trains():
    learner = BMAML(networks.dense_lwta((1,), 1, blocks=(2,)), likelihood="gaussian", particles=1, inner_steps=1)
    learner.compile("sgd")
    learner.fit(Sinusoid("train", batch=2, seed=0, train_queries=5).dataset(), steps_per_epoch=1, verbose=0)


def test_draws_that_are_no_multiple_of_the_particles_are_refused():
    with pytest.raises(ValueError, match="Received: draws=7, particles=5"):
        BMAML(networks.mlp((1,), 1), draws=7)
