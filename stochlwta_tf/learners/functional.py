"""Calling a network with given values in place of its variables, and the noise keys that such a call needs."""

import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

import keras
import tensorflow as tf

from stochlwta_tf import random
from stochlwta_tf.layers.gaussian_layer import GaussianLayer


class Stream(enum.IntEnum):
    """The purpose of a key derived from a task's key: the tag of `random.fold_in` and `random.split`."""

    LAYERS = 1
    INNER_STEP = 2
    MINIBATCH = 3
    META_LOSS = 4
    PREDICTION = 5
    POSTERIOR = 6
    LEADER = 7
    ACTIVE_LEARNING = 8


class LayerLosses(NamedTuple):
    """The terms that a network's layers add to a loss, as dicts from layer (or variable) name to scalar.

    Attributes:
        examples: Sums over the examples of the call, such as the KL divergence of winners.
        weights: Terms that depend only on the weights: the KL divergence of Gaussian weights, weight regularizers.
    """

    examples: dict
    weights: dict

    def joined(self, other: "LayerLosses") -> "LayerLosses":
        """The losses of the examples of two calls under the same weights: those of the weights count once."""
        return LayerLosses({name: loss + other.examples[name] for name, loss in self.examples.items()}, self.weights)

    def terms(self) -> dict[str, tf.Tensor]:
        """Every loss by a descriptive name."""
        return {
            **{f"loss of {name}": loss for name, loss in self.examples.items()},
            **{f"loss of the weights of {name}": loss for name, loss in self.weights.items()},
        }


NO_LOSSES = LayerLosses({}, {})


def functional_call(
    network: keras.Model,
    weights: Sequence[tf.Tensor],
    state: Sequence[tf.Tensor],
    x: tf.Tensor,
    training: bool,
    probe: keras.Model | None = None,
) -> tuple[Any, list[tf.Tensor], LayerLosses]:
    """`network(x)` with the given values in place of its variables; nothing is mutated.

    `network.stateless_call` will not do: it bypasses `Layer.__call__`, so that a layer used twice keeps only its last `add_loss`, and a
    subclassed network that does not pass `training` on silently loses its KL terms.

    Args:
        network: A built `keras.Model`.
        weights: Values of `network.trainable_variables`.
        state: Values of `network.non_trainable_variables`.
        x: Inputs.
        training: Whether layers are in training mode.
        probe: Another model of the network's layers, which is called instead: its outputs expose inner values.

    Returns:
        Outputs, the new state, and the `LayerLosses`; none unless `training`.

    Example:

    >>> outputs, state, losses = functional_call(network, weights, state, x, training=True)
    """
    dtype = weights[0].dtype
    values = [*zip(network.trainable_variables, weights), *zip(network.non_trainable_variables, state)]
    with keras.StatelessScope(values, collect_losses=True) as scope:
        # Whatever a network computes in, likelihoods are computed in the weights' type.
        outputs = tf.nest.map_structure(lambda y: _of_type(dtype, y), (network if probe is None else probe)(x, training=training))
        losses = _named_losses(network, scope, dtype) if training else NO_LOSSES
    return outputs, [scope.get_current_value(v) for v in network.non_trainable_variables], losses


def _of_type(dtype: tf.DType, value: tf.Tensor) -> tf.Tensor:
    return tf.cast(value, dtype) if value.dtype.is_floating else value


def _named_losses(network: keras.Model, scope: keras.StatelessScope, dtype: tf.DType) -> LayerLosses:
    """Every loss of the network once, summed under the name of its layer."""
    gaussian = {layer.path: layer.losses for layer in network._flatten_layers() if isinstance(layer, GaussianLayer)}
    regularized = {v.path: v.regularizer(scope.get_current_value(v)) for v in network.trainable_variables if v.regularizer is not None}
    # A layer that is called twice adds its KL twice, but has one posterior.
    weights = {path: tf.add_n(losses) / len(losses) for path, losses in gaussian.items() if losses}
    taken = {id(loss) for losses in gaussian.values() for loss in losses}
    left = {id(loss): loss for loss in scope.losses if id(loss) not in taken}
    examples = {}
    for layer in (*network.layers, network):
        own = [left.pop(id(loss)) for loss in layer.losses if id(loss) in left]
        if own:
            examples[layer.name] = tf.add_n([_of_type(dtype, loss) for loss in own])
    return LayerLosses(examples, {**weights, **regularized})


def with_noise_key(network: keras.Model, state: Sequence[tf.Tensor], key: tf.Tensor) -> list[tf.Tensor]:
    """`state` with every noise generator of the network set to its own key, derived from one.

    A stochastic layer keeps its noise in a `keras.random.SeedGenerator`, whose state is one of the network's non-trainable variables.
    """
    generators = [i for i, v in enumerate(network.non_trainable_variables) if v.name == "seed_generator_state"]
    state = list(state)
    if generators:
        for i, layer_key in zip(generators, tf.unstack(random.split(key, len(generators), Stream.LAYERS))):
            state[i] = tf.cast(layer_key, network.non_trainable_variables[i].dtype)
    return state
