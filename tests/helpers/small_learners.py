"""Tasks of classified points, and networks and learners that are small, for the tests of several learners."""

import keras
import numpy as np
import tensorflow as tf

from stochlwta_tf import networks, random
from stochlwta_tf.tasks import Task

WAY, SUPPORT, QUERY = 3, 6, 5


def point_classes(count, shape=(2,), seed=0):
    values = np.random.default_rng(seed)

    def examples(n):
        x = values.normal(size=(count, n, *shape)).astype("float32")
        return tf.constant(x), tf.constant(values.integers(0, WAY, (count, n)).astype("int32"))

    return Task(*examples(SUPPORT), *examples(QUERY), random.split(random.key_from_seed(seed), count))


def tiny_lwta(**options):
    keras.utils.set_random_seed(0)
    return networks.dense_lwta((2,), WAY, blocks=(2,), **options)


def point_mlp(**options):
    keras.utils.set_random_seed(0)
    return networks.mlp((2,), WAY, units=(4,), **options)


def bits_of(model):
    return [v.numpy().tobytes() for v in model.variables]
