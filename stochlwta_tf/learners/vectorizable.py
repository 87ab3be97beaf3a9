"""Which networks can run vectorised, or under XLA: known layers by a list, and others by trying."""

from typing import Any

import keras
import tensorflow as tf

from stochlwta_tf import layers, random
from stochlwta_tf.layers.model_shapes import shapes_of
from stochlwta_tf.learners.functional import functional_call, with_noise_key
from stochlwta_tf.learners.precision import gradient

_KERAS = """
    Activation Add AlphaDropout Average AveragePooling1D AveragePooling2D Concatenate Conv1D Conv2D Dense DepthwiseConv2D Dropout
    ELU Flatten GaussianDropout GaussianNoise GlobalAveragePooling1D GlobalAveragePooling2D GlobalMaxPooling1D GlobalMaxPooling2D
    Identity InputLayer LayerNormalization LeakyReLU MaxPooling1D MaxPooling2D Multiply Permute PReLU ReLU Reshape Softmax Subtract
"""
#: Layers that need no trial. A subclass of one of them does, since it may compute something else.
_KNOWN = {getattr(keras.layers, name) for name in _KERAS.split()} | {kind for kind in vars(layers).values() if isinstance(kind, type)}
_tried: dict[Any, bool] = {}


def has_convolution(network: keras.Model) -> bool:
    """Whether any kernel of a network has spatial axes."""
    return any(len(v.shape) > 2 for v in network.trainable_variables)


def is_recurrent(network: keras.Model) -> bool:
    """Whether a network has a recurrent layer at any depth, whose loop over time has no gradient under XLA."""
    return any(isinstance(layer, keras.layers.RNN) for layer in network._flatten_layers())


def compiles(network: keras.Model, vectorized: bool) -> bool:
    """Whether a network and its first and second derivatives compile under XLA, for one task or vectorised over tasks.

    Unknown layers are tried on two tasks of two examples, once for networks of the same layers and sizes.
    """
    if is_recurrent(network):
        return False
    kinds = [type(layer) for layer in network._flatten_layers() if not _is_keras_container(layer)]
    if _KNOWN.issuperset(kinds):
        return True
    sizes = tuple(tuple(v.shape) for v in network.variables)
    what = (vectorized, shapes_of(network), tuple(kinds), sizes)
    if what not in _tried:
        _tried[what] = _compiles(network, vectorized)
    return _tried[what]


def _is_keras_container(layer: keras.layers.Layer) -> bool:
    """Whether a layer is a sequence or a graph of layers, and computes nothing itself."""
    return isinstance(layer, keras.Model) and type(layer).__module__.startswith("keras.")


def _compiles(network: keras.Model, vectorized: bool) -> bool:
    weights, state = ([tf.convert_to_tensor(v) for v in own] for own in (network.trainable_variables, network.non_trainable_variables))
    shape, _ = shapes_of(network)

    def one(arguments: tuple) -> Any:
        x, key = arguments
        watched = [tf.identity(w) for w in weights]
        noise = with_noise_key(network, state, key)
        with tf.GradientTape() as outer:
            outer.watch(watched)
            with tf.GradientTape() as inner:
                inner.watch(watched)
                loss = tf.reduce_sum(tf.square(functional_call(network, watched, noise, x, training=True)[0]))
            gradients = gradient(inner, loss, watched)
            squares = tf.add_n([tf.reduce_sum(tf.square(g)) for g in gradients])
        second = gradient(outer, squares, watched)
        return second, functional_call(network, weights, noise, x, training=False)[0]

    def both(x: tf.Tensor, keys: tf.Tensor) -> Any:
        return tf.vectorized_map(one, (x, keys), fallback_to_while_loop=False) if vectorized else one((x[0], keys[0]))

    x = tf.zeros([2, 2, *(size or 2 for size in shape)], weights[0].dtype)
    try:
        tf.function(both, jit_compile=True, autograph=False)(x, random.split(random.key_from_seed(0), 2))
    except Exception:  # whatever it is: a missing rule of vectorisation, an operation without XLA, a shape known only at run time
        return False
    return True
