"""Reptile against loops written out by hand and Keras's optimizers."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import random
from stochlwta_tf.learners import Reptile
from stochlwta_tf.learners.reptile import minibatches
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_learners import WAY, point_classes, point_mlp, tiny_lwta
from tests.helpers.small_tasks import one


def test_reptile_leaves_kl_terms_out_and_averages_when_asked():
    task = one(point_classes(1), 0)
    learner = Reptile(point_mlp(activation="tanh"), inner_lr=0.5, inner_steps=3, inner_loss="mean")
    psi, state = learner.current_values()
    w1, b1, w2, b2 = (w.numpy().astype("float64") for w in psi)
    x, y = task.support_x.numpy(), np.eye(WAY)[task.support_y]
    for _ in range(3):  # backpropagation by hand
        h = np.tanh(x @ w1 + b1)
        p = np.exp(h @ w2 + b2)
        delta = (p / p.sum(1, keepdims=True) - y) / len(x)
        back = delta @ w2.T * (1 - h**2)
        w1, b1, w2, b2 = w1 - 0.5 * x.T @ back, b1 - 0.5 * back.sum(0), w2 - 0.5 * h.T @ delta, b2 - 0.5 * delta.sum(0)
    adapted, _ = learner.adapt(psi, state, task.support_x, task.support_y, task.key)
    for ours, expected in zip(adapted, (w1, b1, w2, b2)):
        np.testing.assert_allclose(ours, expected, atol=2e-6)

    with_kl, without = (Reptile(tiny_lwta(weights_kl_weight=kl, winners_kl_weight=kl), inner_lr=0.1) for kl in (5.0, 0.0))
    updates = [r.task_update(*r.current_values(), task) for r in (with_kl, without)]
    tf.nest.map_structure(np.testing.assert_array_equal, *updates)


def keras_adam_steps(network, optimizer, tasks, steps):
    """The weights of a network after steps of a Keras optimizer on each of some support sets, every time from the weights at the start."""
    start, adapted = network.get_weights(), []
    for x, y in tasks:
        network.set_weights(start)
        for _ in range(steps):
            with tf.GradientTape() as tape:
                loss = tf.reduce_mean(keras.losses.sparse_categorical_crossentropy(y, network(x), from_logits=True))
            optimizer.apply(tape.gradient(loss, [v.value for v in network.trainable_variables]), network.trainable_variables)
        adapted.append(network.get_weights())
    return adapted


def adam_without_momentum():
    return keras.optimizers.Adam(0.01, beta_1=0.0, beta_2=0.999, epsilon=1e-8)


def test_the_inner_adam_is_keras_adam_without_momentum():
    task = one(point_classes(1), 0)
    learner = Reptile(point_mlp(), inner_optimizer="adam", inner_optimizer_state="reset", inner_lr=0.01, inner_steps=4, inner_loss="mean")
    psi, state = learner.current_values()
    adapted, _ = learner.adapt(psi, state, task.support_x, task.support_y, task.key)
    again, _ = learner.adapt(psi, state, task.support_x, task.support_y, task.key)
    tf.nest.map_structure(np.testing.assert_array_equal, again, adapted)  # its state is that of no task before
    (expected,) = keras_adam_steps(point_mlp(), adam_without_momentum(), [(task.support_x, task.support_y)], 4)
    for ours, w in zip(adapted, expected):
        np.testing.assert_allclose(ours, w, atol=1e-5)


def test_the_inner_adam_keeps_its_state_over_tasks_and_into_the_test():
    """As the authors' code: an optimizer that is never reset, weights that are restored after each task."""
    tasks = [point_classes(1, seed=s) for s in range(3)]
    learner = Reptile(point_mlp(), inner_optimizer="adam", inner_lr=0.01, inner_steps=3, inner_loss="mean")
    learner.compile(keras.optimizers.SGD(0.5))
    network, optimizer = point_mlp(), adam_without_momentum()
    for t in tasks[:2]:  # training: Reptile's step with beta = 0.5
        before = network.get_weights()
        (adapted,) = keras_adam_steps(network, optimizer, [(t.support_x[0], t.support_y[0])], 3)
        network.set_weights([b + 0.5 * (a - b) for b, a in zip(before, adapted)])
    data = tf.data.Dataset.from_tensor_slices({k: np.stack(v) for k, v in zip(Task._fields, zip(*tasks[:2]))})
    learner.fit(data, verbose=0)
    assert learner.carried[-1].numpy() == 6
    for ours, expected in zip(learner.trainable_variables, network.get_weights()):
        np.testing.assert_allclose(ours, expected, atol=1e-5)
    (expected,) = keras_adam_steps(network, optimizer, [(tasks[2].support_x[0], tasks[2].support_y[0])], 3)  # the test
    carried = [v.numpy() for v in learner.carried]
    for _ in range(2):  # which leaves the state as it was
        ours = learner.adapt_to(tasks[2].support_x[0].numpy(), tasks[2].support_y[0].numpy()).adapted
        for a, e in zip(ours, expected):
            np.testing.assert_allclose(a, e, atol=1e-5)
    for v, before in zip(learner.carried, carried):
        np.testing.assert_array_equal(v, before)


def test_the_tasks_of_a_batch_start_from_one_state_and_leave_their_mean(tmp_path):
    tasks = point_classes(2)
    learner = Reptile(point_mlp(), inner_optimizer="adam", inner_lr=0.01, inner_steps=2, inner_loss="mean")
    learner.compile(keras.optimizers.SGD(0.5))
    learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    moments = []
    for i in range(2):
        optimizer = adam_without_momentum()
        keras_adam_steps(point_mlp(), optimizer, [(tasks.support_x[i], tasks.support_y[i])], 2)
        moments.append([v.numpy() for v in optimizer.variables if v.path.endswith("_velocity")])
    for ours, a, b in zip(learner.carried, *moments):
        np.testing.assert_allclose(ours, (a + b) / 2, rtol=1e-4, atol=1e-9)
    learner.save(tmp_path / "model.keras")
    for other in (keras.saving.load_model(tmp_path / "model.keras"), learner.with_options(draws=2)):
        for ours, expected in zip(other.carried, learner.carried, strict=True):
            np.testing.assert_array_equal(ours, expected)


@pytest.mark.parametrize(("examples", "batch", "steps"), [(10, 5, 4), (10, 10, 3), (6, 4, 3), (7, 3, 7), (5, 1, 0), (3, 5, 3)])
def test_minibatches_see_every_example_once_an_epoch(examples, batch, steps):
    indices = minibatches(random.key_from_seed(1), examples, batch, steps).numpy()
    assert indices.shape == (steps, batch)
    seen = indices.reshape(-1)
    for epoch in range(0, len(seen), examples):
        piece = seen[epoch : epoch + examples]
        assert len(set(piece)) == len(piece) and set(piece) <= set(range(examples))
    if steps * batch >= 2 * examples >= 10:
        assert list(seen[:examples]) != list(seen[examples : 2 * examples])


def test_training_steps_use_minibatches_and_adaptation_the_whole_support(inject_noise):
    task = one(point_classes(1), 0)
    learner = Reptile(point_mlp(), inner_lr=0.1, inner_steps=1, inner_batch=2)
    psi, state = learner.current_values()
    order = np.array([[0.5, 0.1, 0.9, 0.2, 0.7, 0.8]], "float32")  # the first two of its order: examples 1 and 3
    inject_noise(order)
    gradient, _ = learner.task_update(psi, state, task)
    x, y = (tf.gather(t, [1, 3]) for t in (task.support_x, task.support_y))
    few, _ = learner.adapt(psi, state, x, y, task.key)
    for before, g, after in zip(psi, gradient, few):
        np.testing.assert_allclose(before - g, after, atol=1e-6)


@pytest.mark.parametrize("norm", [0.1, 100.0])
def test_a_long_gradient_is_scaled_down_to_the_largest_norm(norm):
    learner = Reptile(point_mlp(), inner_clip_norm=norm)
    weights, _ = learner.current_values()
    gradients = [tf.ones_like(w) * (i + 1) for i, w in enumerate(weights)]
    clipped, _ = tf.clip_by_global_norm(gradients, norm)
    for ours, w, g in zip(learner.descend(weights, gradients, 0.5), weights, clipped):
        np.testing.assert_allclose(ours, w - 0.5 * g, atol=1e-5)


def test_the_clip_bounds_the_gradient_before_adams_direction():
    """The direction of Adam's first step with beta1 = 0 is the gradient's sign, however long the gradient is."""
    task = one(point_classes(1), 0)
    learner = Reptile(point_mlp(), inner_optimizer="adam", inner_lr=0.1, inner_steps=1, inner_clip_norm=1e-2)
    psi, state = learner.current_values()
    adapted, _ = learner.adapt(psi, state, task.support_x, task.support_y, task.key)
    change = np.abs(np.concatenate([np.ravel(a - b) for a, b in zip(adapted, psi)]))
    assert np.median(change[change != 0]) == pytest.approx(0.1, rel=1e-2)


def test_a_clipped_gradient_of_zero_has_a_derivative():
    learner = Reptile(point_mlp(), inner_clip_norm=10.0)
    weights, _ = learner.current_values()
    scale = tf.Variable(0.0)
    with tf.GradientTape() as tape:
        total = tf.add_n([tf.reduce_sum(g) for g in learner.clipped([scale * tf.ones_like(w) for w in weights])])
    assert tape.gradient(total, scale) == sum(np.size(w) for w in weights)
