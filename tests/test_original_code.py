"""Parity with the paper's published code, on numbers recorded from it (`data/original_code_vectors.npz`).

With the recorded noise, the package's own layers, networks and learner give the recorded outputs, gradients and weights.  Two remarks:

- The published activations include "maxout", a block's maximum; it is the sum over the block of `DeterministicLWTA`.
- Its KL terms (`layer_loss`) are computed by faulty formulas and never used; they are not reproduced.
"""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks, objectives
from stochlwta_tf.layers import DeterministicLWTA, GaussianConv2D, GaussianDense, StochasticLWTA
from stochlwta_tf.learners import StochLWTA
from stochlwta_tf.tasks.task import Task
from tests.helpers import REPOSITORY

VECTORS = dict(np.load(REPOSITORY / "tests" / "data" / "original_code_vectors.npz"))
TOLERANCE = {"rtol": 1e-5, "atol": 1e-5}
OMNIGLOT, IMAGENET = ((49,), {}), ((10, 10, 3), {"max_pool": True})
NAMES = {"kernel_mean": "mean", "kernel_rho": "rho", "moving_mean": "mean", "moving_variance": "variance"}


def recorded(prefix):
    """Entries below a prefix, by their remaining names."""
    return {name.removeprefix(prefix): value for name, value in VECTORS.items() if name.startswith(prefix)}


def noise(prefix):
    """The recorded noise below a prefix, in the order in which it was drawn."""
    return [value for name, value in sorted(recorded(f"{prefix}/noise").items())]


def assert_close(ours, expected):
    np.testing.assert_allclose(ours, expected, **TOLERANCE)


def competition(temperature=0.67):
    return StochasticLWTA(2, temperature=temperature, test_temperature=0.01, probability_floor=1e-4, kl_weight=0.0)


@pytest.mark.parametrize("temperature", [0.67, 0.5, 0.01])
def test_sampling(inject_noise, temperature):
    prefix = f"concrete_sample/t{temperature}"
    probabilities = VECTORS[f"{prefix}/probs"]
    inject_noise(*noise(prefix))
    # A layer without the floor, which the recorded probabilities already have; on outputs of 1 its product is the sample itself.
    layer = StochasticLWTA(2, temperature=temperature, kl_weight=0.0)
    h = np.log(probabilities).reshape(4, 6)
    assert_close((layer(h, training=True) / h).numpy().reshape(4, 3, 2), VECTORS[f"{prefix}/sample"])


@pytest.mark.parametrize("mode", ["train", "test"])
@pytest.mark.parametrize("activation", ["lwta", "relu", "linear", "maxout"])
@pytest.mark.parametrize("weights", ["gaussian", "point"])
def test_dense_layer(inject_noise, weights, activation, mode):
    prefix = f"dense/{weights}/{activation}"
    values, x = recorded(f"{prefix}/weights/"), VECTORS[f"{prefix}/x"]
    if weights == "gaussian":
        dense = GaussianDense(6, predict_with="mean", kl_weight=0.0)
        variables = {"kernel_mean": "mean", "kernel_rho": "rho", "bias": "bias"}
    else:
        dense = keras.layers.Dense(6)
        variables = {"kernel_mean": "kernel", "bias": "bias"}
    dense.build(x.shape)
    for name, attribute in variables.items():
        getattr(dense, attribute).assign(values[name])
    units = {
        "lwta": competition(),
        "relu": keras.layers.ReLU(),
        "linear": keras.layers.Activation("linear"),
        "maxout": keras.Sequential([DeterministicLWTA(2), keras.layers.Reshape((3, 2))]),
    }[activation]
    model = keras.Sequential([dense, units])
    model.build(x.shape)
    left = inject_noise(*noise(f"{prefix}/{mode}"))
    with tf.GradientTape() as tape:
        y = model(x, training=mode == "train")
        y = tf.reduce_sum(y, -1) if activation == "maxout" else y
        loss = tf.reduce_sum(y**2)
    assert left == []
    assert_close(y, VECTORS[f"{prefix}/{mode}/y"])
    expected = recorded(f"{prefix}/{mode}/grad_of_sum_y2/")
    gradients = tape.gradient(loss, [getattr(dense, variables[name]).value for name in expected])
    for gradient, value in zip(gradients, expected.values()):
        assert_close(gradient, value)


@pytest.mark.parametrize("mode", ["train", "test"])
@pytest.mark.parametrize("activation", ["lwta", "relu"])
def test_convolutional_layer(inject_noise, activation, mode):
    prefix = f"conv/gaussian/{activation}"
    values, x = recorded(f"{prefix}/weights/"), VECTORS[f"{prefix}/x"]
    layer = GaussianConv2D(8, 3, strides=2, padding="same", predict_with="mean", kl_weight=0.0)
    layer.build(x.shape)
    layer.mean.assign(values["kernel_mean"])
    layer.rho.assign(values["kernel_rho"])
    layer.bias.assign(values["bias"])
    units = competition() if activation == "lwta" else keras.layers.ReLU()
    model = keras.Sequential([layer, units])
    model.build(x.shape)
    left = inject_noise(*noise(f"{prefix}/{mode}"))
    assert_close(model(x, training=mode == "train"), VECTORS[f"{prefix}/{mode}/y"])
    assert left == []


def classifier(shape, options, prefix):
    """The network in the published configuration, with recorded weights."""
    network = networks.dense_lwta(
        shape,
        5,
        input_scale=True,
        temperature=0.5,
        test_temperature=0.01,
        probability_floor=1e-4,
        predict_with="mean",
        winners_kl_weight=0.0,
        weights_kl_weight=0.0,
        **options,
    )
    for name, value in recorded(f"{prefix}/").items():
        variable(network, name).assign(value)
    return network


def variable(network, name):
    layer, _, variable_name = name.partition("/")
    return getattr(network.get_layer(layer), NAMES.get(variable_name, variable_name))


@pytest.mark.parametrize(("prefix", "shape_and_options"), [("classifier/omniglot", OMNIGLOT), ("classifier/imagenet", IMAGENET)])
def test_classifier(inject_noise, prefix, shape_and_options):
    shape, options = shape_and_options
    network = classifier(shape, options, f"{prefix}/weights")
    x, labels = VECTORS[f"{prefix}/x"].reshape(-1, *shape), VECTORS[f"{prefix}/labels"]
    likelihood = objectives.Categorical(probability_clip=1e-7)

    left = inject_noise(*noise(f"{prefix}/train"))
    with tf.GradientTape() as tape:
        logits = network(x, training=True)
        nll = likelihood.nll(labels, logits)
        loss = tf.reduce_sum(nll)
    assert left == [] and network.losses == []
    assert_close(tf.nn.softmax(logits), VECTORS[f"{prefix}/train/probs"])
    assert_close(nll, VECTORS[f"{prefix}/train/cross_entropy_per_example"])
    gradients = tape.gradient(loss, [v.value for v in network.trainable_variables])
    gradients = {v.path: g for v, g in zip(network.trainable_variables, gradients)}
    expected = recorded(f"{prefix}/train/grad/")
    assert len(expected) == len(gradients)
    for name, value in expected.items():
        assert_close(gradients[variable(network, name).path], value)

    left = inject_noise(*noise(f"{prefix}/test"))
    probabilities = tf.nn.softmax(network(x, training=False)).numpy()
    assert left == []
    assert_close(probabilities, VECTORS[f"{prefix}/test/probs"])
    for axis in (0, 1):
        np.testing.assert_array_equal(probabilities.argmax(axis), VECTORS[f"{prefix}/test/argmax_axis{axis}"])


def test_saturated_cross_entropy():
    group = recorded("saturated_cross_entropy/")
    outputs = tf.constant(group["output"])
    with tf.GradientTape() as tape:
        tape.watch(outputs)
        nll = objectives.Categorical(probability_clip=1e-7).nll(group["labels"], outputs)
    assert_close(nll, group["loss"])
    assert_close(tape.gradient(nll, outputs), group["grad_of_sum_wrt_output"])


def test_meta_iteration(inject_noise):
    """Four minibatch steps with the constraint on rho, and the outer step: all done by the learner."""
    network = classifier(*OMNIGLOT, "meta_iteration/before/weights")
    learner = StochLWTA(network, probability_clip=1e-7, inner_lr=0.003, inner_steps=4, inner_batch=10)
    x, labels = VECTORS["meta_iteration/x"].reshape(40, 49), VECTORS["meta_iteration/labels"].reshape(40)
    in_order = np.linspace(0.1, 0.9, 40, dtype="float32")[None]  # the noise whose order is the minibatches'
    steps = [array for step in range(4) for array in noise(f"meta_iteration/step{step}")]
    left = inject_noise(in_order, *steps)
    psi, state = learner.current_values()
    task = Task(tf.constant(x), tf.constant(labels), None, None, tf.constant([0, 0], tf.uint32))
    meta_gradient, _ = learner.task_update(psi, state, task)
    assert left == []
    for v, before, difference in zip(learner.trainable_variables, psi, meta_gradient):
        layer, name = v.path.split("/")
        assert_close(before - difference, VECTORS[f"meta_iteration/adapted/weights/{layer}/{published(layer, name)}"])

    learner.compile(keras.optimizers.SGD(float(VECTORS["meta_iteration/outer_step_size"])))
    learner.optimizer.apply(meta_gradient, learner.trainable_variables)
    after = recorded("meta_iteration/after/weights/")
    assert len(after) == 13
    for name, expected in after.items():
        assert_close(variable(network, name), expected)


def published(layer, name):
    return {"mean": "kernel_mean", "rho": "kernel_rho"}.get(name, name)


def test_every_recorded_group_is_used():
    assert {name.split("/")[0] for name in VECTORS} == {
        "classifier",
        "concrete_sample",
        "conv",
        "dense",
        "meta_iteration",
        "saturated_cross_entropy",
    }
