"""The way of the paper's published code: plain Keras and TensorFlow, one task at a time, operation by operation.

Each meta-iteration takes one task: `get_weights`, inner steps of a Keras optimizer under a gradient tape, `set_weights`. The network, its
loss and its steps are those of the workload.
"""

import importlib.metadata
import itertools
import math

import keras
import numpy as np
import tensorflow as tf
from pattern import pattern

FIELDS = ("support_x", "support_y", "query_x", "query_y")
METHODS = ("stochlwta",)


def versions():
    return {name: importlib.metadata.version(name) for name in ("tensorflow", "keras")}


class Noise:
    """TensorFlow's own, or what stands for it in the check."""

    given = False

    @classmethod
    def normal(cls, shape):
        return tf.constant(pattern(shape)) if cls.given else tf.random.normal(shape)

    @classmethod
    def gumbel(cls, shape):
        return tf.constant(pattern(shape)) if cls.given else -tf.math.log(-tf.math.log(tf.random.uniform(shape, minval=1e-7)))


class GaussianLayer(keras.layers.Layer):
    """A dense layer, or with `filters` a convolution, whose weights are sampled in every pass."""

    def __init__(self, units, rho_min, kernel=(), stride=1):
        super().__init__()
        self.units, self.rho_min, self.kernel, self.stride = units, rho_min, kernel, stride

    def build(self, input_shape):
        shape = (*self.kernel, input_shape[-1], self.units)
        self.mean = self.add_weight(shape=shape, name="mean")
        self.rho = self.add_weight(shape=shape, constraint=lambda rho: tf.maximum(rho, self.rho_min), name="rho")
        self.bias = self.add_weight(shape=(self.units,), name="bias")

    def call(self, x):
        kernel = self.mean + tf.math.softplus(self.rho) * Noise.normal(self.mean.shape)
        return (tf.nn.conv2d(x, kernel, self.stride, "SAME") if self.kernel else x @ kernel) + self.bias


class LWTA(keras.layers.Layer):
    """Blocks of units of which a sampled winner passes; in training, its relaxation."""

    def __init__(self, network):
        super().__init__()
        self.network = network

    def call(self, x, training=False):
        competitors = self.network["competitors"]
        h = tf.reshape(x, [*x.shape[:-1], x.shape[-1] // competitors, competitors])
        perturbed = h + Noise.gumbel(h.shape)
        if training:
            winners = tf.nn.softmax(perturbed / self.network["temperature"])
            if self.network["winners_kl_weight"]:
                q = tf.nn.softmax(h)
                self.add_loss(self.network["winners_kl_weight"] * tf.reduce_sum(q * (tf.nn.log_softmax(h) + math.log(competitors))))
        else:
            winners = tf.one_hot(tf.argmax(perturbed, -1), competitors, dtype=h.dtype)
        return tf.reshape(winners * h, x.shape)


class Network(keras.Model):
    """The workload's network."""

    def __init__(self, spec):
        super().__init__()
        network = spec["config"]["network"]
        self.front, self.body = [], []
        if network["name"] == "conv4":
            stride = 2 if network["downsampling"] == "stride" else 1
            for _ in range(4):
                self.body += [GaussianLayer(network["filters"], network["rho_min"], (3, 3), stride), keras.layers.BatchNormalization()]
                self.body += [keras.layers.MaxPooling2D(2, padding="same")] * (stride == 1) + [LWTA(network)]
        else:
            if network["input_scale"]:
                # A normalisation whose statistics stay at 0 and 1.
                self.front = [keras.layers.BatchNormalization(), keras.layers.ReLU()]
            if network["max_pool"]:
                self.front += [keras.layers.Reshape(spec["input_shape"]), keras.layers.MaxPooling2D(2)]
            for blocks in network["blocks"]:
                self.body += [GaussianLayer(blocks * network["competitors"], network["rho_min"]), LWTA(network)]
        self.flatten, self.head = keras.layers.Flatten(), GaussianLayer(spec["outputs"], network["rho_min"])

    def call(self, x, training=False):
        for layer in self.front:
            x = layer(x, training=False) if isinstance(layer, keras.layers.BatchNormalization) else layer(x)
        x = self.flatten(x) if self.front else x
        for layer in self.body:
            if isinstance(layer, keras.layers.BatchNormalization):
                x = layer(x, training=True)
            else:
                x = layer(x, training=training) if isinstance(layer, LWTA) else layer(x)
        return self.head(self.flatten(x))


class Training:
    """One task at a time."""

    def __init__(self, spec, data):
        self.spec, self.learner = spec, spec["config"]["learner"]
        self.model = Network(spec)
        self.model(tf.zeros([1, *self.inputs(data["support_x"][0, 0]).shape[1:]], keras.config.floatx()))
        for i, v in enumerate(self.model.trainable_variables):
            v.assign(data[f"weight{i:02}"])
        self.steps = self.learner["inner_steps"]
        if spec["predict"] and self.learner["test_inner_steps"] is not None:
            self.steps = self.learner["test_inner_steps"]
        self.optimizer = keras.optimizers.SGD(self.learner["inner_lr"], global_clipnorm=self.learner["inner_clip_norm"])

    def inputs(self, x):
        dense_images = self.spec["kind"] == "classification" and self.spec["config"]["network"]["name"] != "conv4"
        return x.reshape(x.shape[0], -1) if dense_images else x

    def adapt(self, x, y):
        x = self.inputs(x)
        for _ in range(self.steps):
            with tf.GradientTape() as tape:
                outputs = self.model(x, training=True)
                if self.spec["kind"] == "classification":
                    nll = tf.nn.sparse_softmax_cross_entropy_with_logits(y, outputs)
                else:
                    nll = 0.5 * tf.square((y - outputs) / self.learner["noise_std"])
                loss = tf.reduce_sum(nll) + sum(self.model.losses)
            gradients = tape.gradient(loss, self.model.trainable_variables)
            self.optimizer.apply_gradients(zip(gradients, self.model.trainable_variables))

    def predict(self, support_x, support_y, query_x):
        old = self.model.get_weights()
        self.adapt(support_x, support_y)
        draws = [self.model(self.inputs(query_x)).numpy() for _ in range(self.learner["draws"])]
        self.model.set_weights(old)
        return draws


def checked(spec, data, options):
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    Noise.given = True
    try:
        training = Training(spec, data)
        tasks = list(zip(*(data[name][0] for name in FIELDS)))
        if spec["predict"]:
            return training.predict(*tasks[0][:3])
        before = [v.numpy() for v in training.model.trainable_variables]
        differences = []
        for task in tasks:
            training.adapt(*task[:2])
            differences.append([b - v.numpy() for b, v in zip(before, training.model.trainable_variables)])
            for b, v in zip(before, training.model.trainable_variables):
                v.assign(b)
        return [np.mean(d, 0) for d in zip(*differences)]
    finally:
        keras.config.set_floatx("float32")
        keras.config.set_dtype_policy("float32")
        Noise.given = False


class Contestant:
    """The training, or prediction."""

    multiple = tasks = 1

    def __init__(self, spec, data, options):
        self.training, self.predict = Training(spec, data), spec["predict"]
        self.rate = spec["config"]["optimizer"]["learning_rate"]
        self.pool = itertools.cycle(zip(*(np.concatenate(data[name]) for name in FIELDS)))

    def run(self, iterations):
        for task in itertools.islice(self.pool, iterations):
            if self.predict:
                self.training.predict(*task[:3])
                continue
            model = self.training.model
            old = model.get_weights()
            self.training.adapt(*task[:2])
            model.set_weights([o + self.rate * (n - o) for o, n in zip(old, model.get_weights())])
