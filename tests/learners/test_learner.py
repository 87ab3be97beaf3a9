"""The learners against loops written out by hand, and what a user does with them."""

import subprocess
import sys

import keras
import numpy as np
import pytest
import tensorflow as tf
import tensorflow_probability as tfp

from stochlwta_tf import networks, random
from stochlwta_tf.layers import GaussianDense
from stochlwta_tf.learners import MAML, MetaLearner, Reptile, StochLWTA
from stochlwta_tf.learners.failure import explain_failure
from stochlwta_tf.learners.functional import functional_call, with_noise_key
from stochlwta_tf.learners.reptile import minibatches
from stochlwta_tf.tasks.task import Task
from tests.helpers.small_tasks import point_tasks

tfd = tfp.distributions
WAY, SUPPORT, QUERY = 3, 6, 5


def task_batch(count, shape=(2,), seed=0):
    values = np.random.default_rng(seed)

    def examples(n):
        x = values.normal(size=(count, n, *shape)).astype("float32")
        return tf.constant(x), tf.constant(values.integers(0, WAY, (count, n)).astype("int32"))

    return Task(*examples(SUPPORT), *examples(QUERY), random.split(random.key_from_seed(seed), count))


def one(tasks, i):
    return Task(*(t[i] for t in tasks))


def tiny(**options):
    keras.utils.set_random_seed(0)
    return networks.dense_lwta((2,), WAY, blocks=(2,), **options)


def point_mlp(**options):
    keras.utils.set_random_seed(0)
    return networks.mlp((2,), WAY, units=(4,), **options)


def bits_of(model):
    return [v.numpy().tobytes() for v in model.variables]


@pytest.fixture(scope="module")
def learner():
    """One compiled learner for the tests that only use it."""
    learner = StochLWTA(tiny(rho_initial=-2.0), inner_lr=0.05, inner_steps=3, draws=4)
    learner.compile(keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(0.25, 4, 0.0)))
    return learner


# Calling a network with given values.


def test_a_functional_call_is_the_call_with_the_values_assigned():
    network, x = tiny(predict_with="mean"), task_batch(1).support_x[0]
    before = bits_of(network)
    weights = [v.value + 0.1 for v in network.trainable_variables]
    state = with_noise_key(network, [v.value for v in network.non_trainable_variables], random.key_from_seed(1))
    outputs, new_state, losses = functional_call(network, weights, state, x, training=True)
    assert bits_of(network) == before
    for v, value in zip([*network.trainable_variables, *network.non_trainable_variables], [*weights, *state]):
        v.assign(value)
    np.testing.assert_array_equal(network(x, training=True), outputs)
    assert list(losses.examples) == ["units1"] and list(losses.weights) == ["hidden1", "output"]
    named = {**losses.examples, **losses.weights}
    for name, loss in named.items():
        assert float(loss) == pytest.approx(float(network.get_layer(name).losses[0]))
    for v, value in zip(network.non_trainable_variables, new_state):
        np.testing.assert_array_equal(v, value)
    assert functional_call(network, weights, state, x, training=False)[2] == ({}, {})


def test_a_layer_used_twice_has_one_kl_and_draws_twice():
    layer = GaussianDense(2, rho_initializer=-1.0, name="shared")
    inputs = keras.Input((2,))
    first, second = layer(inputs), layer(inputs)
    network = keras.Model(inputs, [first, second])
    state = with_noise_key(network, [v.value for v in network.non_trainable_variables], random.key_from_seed(1))
    (y1, y2), _, losses = functional_call(network, [v.value for v in network.trainable_variables], state, tf.ones([1, 2]), training=True)
    assert float(losses.weights["shared"]) == pytest.approx(float(tfd.kl_divergence(layer.posterior(), layer.prior())), rel=1e-5)
    assert not np.allclose(y1, y2)


def test_every_layer_gets_its_own_noise_key():
    network = networks.conv4((4, 4, 1), 2, filters=2, activation="stochastic_lwta", weights="gaussian")
    state = [v.value for v in network.non_trainable_variables]
    keyed = with_noise_key(network, state, random.key_from_seed(1))
    generators = [v.name == "seed_generator_state" for v in network.non_trainable_variables]
    keys = [tuple(k.numpy()) for k, is_key in zip(keyed, generators) if is_key]
    assert len(set(keys)) == len(keys) == 9
    others = [tuple(k.numpy()) for k, is_key in zip(with_noise_key(network, state, random.key_from_seed(2)), generators) if is_key]
    assert not set(keys) & set(others)
    assert all(a is b for a, b, is_key in zip(keyed, state, generators) if not is_key)


# Inner and outer steps.


def test_stochlwta_descends_the_negative_elbo(inject_noise):
    learner = StochLWTA(tiny(rho_initial=-2.0, rho_min=-1.99, winners_kl_weight=0.5, weights_kl_weight=0.01), inner_lr=0.05, inner_steps=2)
    task = one(task_batch(1), 0)
    values = np.random.default_rng(3)
    shapes = [(2, 4), (SUPPORT, 2, 2), (4, WAY)]  # of a step: hidden kernel, winners, output kernel
    draws = [[values.uniform(0.05, 0.95, s) if s == shapes[1] else values.normal(size=s) for s in shapes] for _ in range(2)]
    draws = [[d.astype("float32") for d in step] for step in draws]
    psi, state = learner.current_values()

    weights = [tf.cast(w, tf.float64) for w in psi]
    x, y = tf.cast(task.support_x, tf.float64), task.support_y
    for eps1, u, eps2 in draws:
        with tf.GradientTape() as tape:
            tape.watch(weights)
            mean1, rho1, bias1, mean2, rho2, bias2 = weights
            std1, std2 = tf.nn.softplus(rho1), tf.nn.softplus(rho2)
            h = tf.reshape(x @ (mean1 + std1 * eps1) + bias1, [SUPPORT, 2, 2])
            xi = tf.nn.softmax((tf.math.log(tf.nn.softmax(h)) - tf.math.log(-tf.math.log(tf.cast(u, tf.float64)))) / 0.67)
            logits = tf.reshape(xi * h, [SUPPORT, 4]) @ (mean2 + std2 * eps2) + bias2
            prior = tfd.Normal(tf.zeros([], tf.float64), 1.0)
            weights_kl = sum(tf.reduce_sum(tfd.kl_divergence(tfd.Normal(m, s), prior)) for m, s in ((mean1, std1), (mean2, std2)))
            winners_kl = tf.reduce_sum(tfd.kl_divergence(tfd.Categorical(logits=h), tfd.Categorical(logits=tf.zeros_like(h))))
            loss = -tf.reduce_sum(tfd.Categorical(logits=logits).log_prob(y)) + 0.5 * winners_kl + 0.01 * weights_kl
        weights = [w - 0.05 * g for w, g in zip(weights, tape.gradient(loss, weights))]
        for rho in (1, 4):
            weights[rho] = tf.maximum(weights[rho], tf.constant(-1.99, tf.float64))

    left = inject_noise(*(d for step in draws for d in step))
    gradient, (last_loss, _) = learner.task_update(psi, state, task)
    assert left == []
    assert 0 < np.mean(weights[1] == -1.99) < 1  # the constraint on rho acts
    for before, expected, g in zip(psi, weights, gradient):
        np.testing.assert_allclose(before - g, expected, atol=2e-6)
    assert float(last_loss) == pytest.approx(float(loss), rel=1e-5)


def test_reptile_leaves_kl_terms_out_and_averages_when_asked():
    task = one(task_batch(1), 0)
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

    with_kl, without = (Reptile(tiny(weights_kl_weight=kl, winners_kl_weight=kl), inner_lr=0.1) for kl in (5.0, 0.0))
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
    task = one(task_batch(1), 0)
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
    tasks = [task_batch(1, seed=s) for s in range(3)]
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
    tasks = task_batch(2)
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
    task = one(task_batch(1), 0)
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
    task = one(task_batch(1), 0)
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


def test_fit_moves_psi_towards_the_mean_of_the_adapted_weights(learner):
    batches = [task_batch(2, seed=s) for s in range(2)]
    start = [v.numpy() for v in learner.trainable_variables]
    psi, state = learner.current_values()
    for beta, tasks in zip((0.25, 0.1875), batches):
        adapted = [learner.adapt(psi, state, t.support_x, t.support_y, t.key)[0] for t in (one(tasks, 0), one(tasks, 1))]
        psi = [p + beta * ((a + b) / 2 - p) for p, a, b in zip(psi, *adapted)]
    data = tf.data.Dataset.from_tensor_slices({k: np.stack(v) for k, v in zip(Task._fields, zip(*batches))})
    history = learner.fit(data, verbose=0).history
    assert set(history) == {"loss", "support_accuracy"}
    assert int(learner.optimizer.iterations) == 2
    for before, v, expected in zip(start, learner.trainable_variables, psi):
        np.testing.assert_allclose(v, expected, atol=1e-6)
        assert not np.array_equal(v, before)


def test_validation_scores_the_queries_of_adapted_networks(learner):
    tasks = task_batch(2, seed=5)
    logs = learner.evaluate(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0, return_dict=True)
    draws = learner.predict_tasks(tasks).numpy()
    predictive = learner.predictive(draws).numpy()
    assert logs["accuracy"] == pytest.approx(np.mean(predictive.argmax(-1) == tasks.query_y))
    np.testing.assert_allclose(predictive, tf.nn.softmax(draws.mean(1)), rtol=1e-5)
    logp = tf.nn.log_softmax(draws).numpy()
    chosen = np.take_along_axis(logp, tasks.query_y.numpy()[:, None, :, None].repeat(4, 1), -1)
    assert logs["loss"] == pytest.approx(-chosen.mean(), rel=1e-5)


# What a user does.


def test_adapting_and_predicting_leave_the_learner_bit_by_bit(learner):
    before = bits_of(learner)
    tasks = task_batch(2, seed=7)
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


def test_adapting_learns_the_support_set():
    x = np.array([[2.0, 0.0], [-2.0, 2.0], [-2.0, -2.0]], "float32")
    learner = StochLWTA(tiny(weights_kl_weight=0.0, winners_kl_weight=0.0), inner_lr=0.1, inner_steps=1, test_inner_steps=100)
    mean = learner.adapt_to(x, np.arange(3)).predict(x).mean
    assert mean.argmax(-1).tolist() == [0, 1, 2]


X, Y = np.zeros((4, 2), "float32"), np.array([0, 1, 2, 0])


@pytest.mark.parametrize(
    ("x", "y", "message"),
    [
        (X[:, :1], Y, r"`support_x` must have the shape \[examples, 2\], with at least one example. Received: shape=\(4, 1\)"),
        (X[0], Y, r"Received: shape=\(2,\)"),
        (X, Y[:3], r"Received: shape=\(3,\), dtype=int64, values from 0 to 2"),
        (X, Y + 1, r"integer labels from 0 to 2.* values from 1 to 3"),
        (X, Y.astype("float32"), "Received: .*dtype=float32"),
        (X[:0], Y[:0], r"at least one example. Received: shape=\(0, 2\)"),
        (X, Y[:0], r"Received: shape=\(0,\), dtype=int64$"),
        (X, np.array(["a", "b", "c", "a"]), r"Received: shape=\(4,\), dtype=<U1$"),
    ],
)
def test_a_support_set_that_does_not_fit_is_refused(learner, x, y, message):
    with pytest.raises(ValueError, match=message):
        learner.adapt_to(x, y)


def test_targets_and_queries_that_do_not_fit_are_refused(learner):
    with pytest.raises(ValueError, match=r"`query_x` must have the shape \[examples, 2\], .* Received: shape=\(4, 3\)"):
        learner.adapt_to(X, Y).predict(np.zeros((4, 3)))
    regression = Reptile(networks.mlp((2,), 1, units=(2,)), likelihood="gaussian")
    with pytest.raises(ValueError, match=r"`support_y` must have the shape \[4, 1\]. Received: shape=\(4,\)"):
        regression.adapt_to(X, np.zeros(4))


def test_a_learner_computes_its_own_loss():
    learner = Reptile(point_mlp())
    with pytest.raises(ValueError, match="Received: loss$"):
        learner.compile("sgd", loss="mse")
    with pytest.raises(ValueError, match="Received: metrics$"):
        learner.compile("sgd", metrics=["accuracy"])


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
    data = tf.data.Dataset.from_tensor_slices(task_batch(3)._asdict()).batch(2)
    with pytest.raises(ValueError, match=r"`dataset.batch\(tasks, drop_remainder=True\)`. Received: None"):
        learner.fit(data, verbose=0)


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
    task = one(task_batch(1, seed=9), 0)
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


# What is not finite.


def test_nan_in_a_support_set_stops_training_before_the_weights(learner):
    tasks = task_batch(2)
    x = tasks.support_x.numpy()
    x[1, 2, 0] = np.nan
    tasks = tasks._replace(support_x=tf.constant(x))
    before = bits_of(learner)
    with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
        learner.fit(tf.data.Dataset.from_tensors(tasks._asdict()), verbose=0)
    assert bits_of(learner)[: len(learner.trainable_variables)] == before[: len(learner.trainable_variables)]
    assert explain_failure(learner, tasks) == "task 1, inner step 0: negative log-likelihood"


@pytest.mark.parametrize(
    ("rate", "clip", "goes_on"),
    [(1e20, {}, False), (1e20, {"clipnorm": 10.0}, True), (1e20, {"global_clipnorm": 1.0}, False), (3e37, {"clipnorm": 1e3}, False)],
)
def test_a_gradient_whose_square_overflows_stops_training_unless_it_is_clipped(rate, clip, goes_on):
    """Adam's second moment would be infinite from then on, and the weight stand still without a word."""
    keras.utils.set_random_seed(0)
    learner = Reptile(networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", inner_lr=rate, inner_steps=1)
    learner.compile(keras.optimizers.Adam(0.001, **clip))
    tasks = point_tasks(count=2)
    assert all(np.isfinite(g).all() for g in learner.meta_gradient(tasks)[0])
    data = tf.data.Dataset.from_tensors(tasks._asdict())
    if goes_on:
        learner.fit(data, verbose=0)
        assert all(np.isfinite(v).all() for v in learner.optimizer.variables)
    else:
        with pytest.raises(tf.errors.InvalidArgumentError, match="not finite"):
            learner.fit(data, verbose=0)
        assert explain_failure(learner, tasks).startswith("task 0, meta-gradient of ")


def test_an_explanation_names_the_term():
    learner = StochLWTA(tiny(), inner_steps=2)
    tasks = task_batch(2)
    learner.network.get_layer("output").mean.assign(np.full((4, WAY), 1e20))  # its square overflows, the outputs do not
    assert explain_failure(learner, tasks) == "task 0, inner step 0: loss of the weights of output"
    assert explain_failure(learner, Task(*(t[:0] for t in tasks))) == "the batch as a whole (no single term of a task alone)"


def test_losses_of_a_subclassed_network_and_of_a_shared_layer_count_once():
    class Penalised(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = keras.layers.Dense(2, activity_regularizer="l2")
            self.again = keras.Sequential([self.dense])

        def call(self, x):
            self.add_loss(tf.constant(3.0))
            return self.again(self.dense(x))

    network = Penalised()
    x = tf.ones([1, 2])
    network(x)
    weights = [tf.convert_to_tensor(v) for v in network.trainable_variables]
    _, _, losses = functional_call(network, weights, [], x, training=True)
    network(x, training=True)
    np.testing.assert_allclose(sum(float(v) for v in losses.examples.values()), float(sum(network.losses)), rtol=1e-6)
    assert float(losses.examples[network.name]) == 3.0 and losses.weights == {}


def test_regularizers_of_weights_count_at_the_weights_given():
    inner = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2, bias_regularizer="l1")])
    network = keras.Sequential([keras.Input((2,)), keras.layers.Dense(3, kernel_regularizer="l2"), inner])
    weights = [tf.ones(v.shape) for v in network.trainable_variables]
    _, _, losses = functional_call(network, weights, [], tf.ones([1, 2]), training=True)
    np.testing.assert_allclose(sorted(map(float, losses.weights.values())), [0.01 * 2, 0.01 * 6])
    assert losses.examples == {}


def test_a_joint_loss_counts_the_weights_once_and_the_examples_all():
    """KL[q(w) || p(w)] does not depend on data; the KL of winners, and an activity regularizer, are sums over examples."""
    keras.utils.set_random_seed(0)
    network = networks.mlp((2,), WAY, units=(4,), activation="stochastic_lwta", weights="gaussian", winners_kl_weight=0.5, rho_initial=-1.0)
    learner = MAML(network)
    task = one(task_batch(1), 0)
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
    tasks = task_batch(4)
    x = tasks.support_x.numpy()
    x[1, 2, 0] = np.nan
    some = tasks._replace(support_x=tf.constant(x))
    logs = learner.evaluate(tf.data.Dataset.from_tensors(some._asdict()), verbose=0, return_dict=True)
    whole = [learner.task_evaluate(*learner.current_values(), one(tasks, i)) for i in (0, 2, 3)]
    assert logs["diverged"] == 0.25
    assert logs["loss"] == pytest.approx(np.mean([w[0] for w in whole]), rel=1e-5)
    assert logs["accuracy"] == pytest.approx(np.mean([w[1] for w in whole]), rel=1e-5)
    none = tasks._replace(support_x=tf.fill(tasks.support_x.shape, np.nan))
    logs = learner.evaluate(tf.data.Dataset.from_tensors(none._asdict()), verbose=0, return_dict=True)
    assert logs["diverged"] == 1 and np.isnan(logs["accuracy"]) and np.isnan(logs["loss"])
