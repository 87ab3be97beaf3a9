"""How often each competing unit of a network wins, on test tasks that the network has adapted to."""

import functools

import keras
import numpy as np
import tensorflow as tf

from stochlwta_tf.errors import UserError
from stochlwta_tf.layers import DeterministicLWTA, StochasticLWTA
from stochlwta_tf.layers.blocks import merge_blocks, one_winner, split_blocks


def layers_of(network):
    """The network's layers of competing units, in order.

    Raises:
        UserError: It has none.
    """
    layers = [layer for layer in network.layers if isinstance(layer, StochasticLWTA | DeterministicLWTA)]
    if not layers:
        raise UserError(f"the network has no competing units. Received: layers {', '.join(layer.name for layer in network.layers)}.")
    return layers


def wins(learner, tasks):
    """Adapts to each task of a batch and returns which units win on its queries, in each draw.

    The draws are those of the learner's prediction: same weights, same winners.

    Args:
        learner: A `MetaLearner` whose network has competing units.
        tasks: A `Task` batch.

    Returns:
        An array `[tasks, B, queries, units]` for each layer, by the layer's name: 1 for a unit that wins, or, in a feature map, the
        fraction of positions at which it does.
    """
    network, layers = learner.network, layers_of(learner.network)
    probe = keras.Model(
        network.input, keras.layers.Concatenate()([Winners(layer.competitors)([layer.input, layer.output]) for layer in layers])
    )
    found = learner.task_runner.map(functools.partial(learner.task_predict, probe=probe))(*learner.current_values(), tasks).numpy()
    ends = np.cumsum([layer.output.shape[-1] for layer in layers])
    return {layer.name: part for layer, part in zip(layers, np.split(found, ends[:-1], -1), strict=True)}


class Winners(keras.layers.Layer):
    """Which units won, from the input and output of a layer of competing units.

    Args:
        competitors: J.

    Input shape:
        Two of `[queries, ..., units]`: that layer's input and output.

    Output shape:
        `[queries, units]`: 1 for the winner of each block and 0 for the others, averaged over positions.
    """

    def __init__(self, competitors, **kwargs):
        super().__init__(**kwargs)
        self.competitors = competitors

    def call(self, inputs):
        h, y = inputs
        share = tf.where(h == 0, tf.zeros_like(y), y / tf.where(h == 0, tf.ones_like(h), h))  # xi, where h is not 0
        won = merge_blocks(one_winner(split_blocks(share, self.competitors)))
        return tf.reduce_mean(won, list(range(1, len(won.shape) - 1))) if len(won.shape) > 2 else won

    def compute_output_shape(self, shapes):
        return shapes[0][0], shapes[0][-1]


def frequencies(won, labels, classes):
    """How often each unit wins, by the class of the query.

    Args:
        won: `[B, queries, units]`, of one task.
        labels: Integers `[queries]` below `classes`.
        classes: How many.

    Returns:
        `[classes, units]`, mean over draws and the class's queries; NaN where a class has none.
    """
    by_class = np.full((classes, won.shape[-1]), np.nan)
    for c in np.unique(labels):
        by_class[c] = won[:, labels == c].mean((0, 1))
    return by_class


def summary(won, labels, classes, competitors):
    """Summarises a layer's winners over many tasks.

    Args:
        won: `[tasks, B, queries, units]`.
        labels: Integers `[tasks, queries]`.
        classes: Number of classes in a task.
        competitors: J.

    Returns:
        A dictionary: `overall`, the frequency of each unit over all tasks, `[units]`; `unused`, the number of units that never win;
        `consistency`, how often the most frequent winner of a block wins for one class of one task, on average (1/J by chance, 1 if a class
        always has the same winners); `by_class`, the frequencies of the first task, `[classes, units]`.
    """
    each = np.stack([frequencies(w, y, classes) for w, y in zip(won, labels, strict=True)])
    best = each.reshape(*each.shape[:2], -1, competitors).max(-1)
    overall = won.mean((0, 1, 2))
    return {
        "competitors": competitors,
        "blocks": len(overall) // competitors,
        "overall": overall.tolist(),
        "unused": int(np.sum(overall == 0)),
        "consistency": float(np.nanmean(best)),
        "by_class": [[None if np.isnan(v) else float(v) for v in row] for row in each[0]],
    }
