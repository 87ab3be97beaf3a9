"""What a training records of a network's posterior and of its competing units."""

import keras
import numpy as np
import tensorflow as tf

from stochlwta_tf.layers import StochasticLWTA
from stochlwta_tf.layers.blocks import softmax, split_blocks
from stochlwta_tf.layers.gaussian_layer import GaussianLayer


class Monitor(keras.callbacks.Callback):
    """Logs, for a network that has such layers:

    - `posterior_std`: the mean of σ over all weights with a Gaussian posterior;
    - `weights_kl`: KL[q(w) || p(w)] over all of them, in nats;
    - `winners_entropy`: the mean over blocks and examples of H[q(xi)], in nats: log J where each unit wins equally often, 0 where the
      winner is certain; at a validation, of the meta-learned network on the queries of one validation task;
    - `winners_kl`: KL[q(xi) || 1/J] of an example, summed over blocks, likewise.

    The last two are of the layers of a network that is a graph; those inside models that it contains are left out.

    Args:
        network: The learner's network.
        task: A validation task, as a batch of one or more, or None.
    """

    def __init__(self, network, task=None):
        super().__init__()
        self._gaussian = [layer for layer in network._flatten_layers() if isinstance(layer, GaussianLayer)]
        graph = task is not None and getattr(network, "inputs", None)  # a subclassed network does not say what its layers receive
        competing = [layer for layer in network.layers if isinstance(layer, StochasticLWTA)] if graph else []
        self._competitors, self._task = [layer.competitors for layer in competing], task
        self._probe = keras.Model(network.input, [layer.input for layer in competing]) if competing else None

    def on_epoch_end(self, epoch, logs=None):
        if self._gaussian:
            logs["posterior_std"] = _mean([layer.stddev for layer in self._gaussian])
            logs["weights_kl"] = float(tf.add_n([layer.posterior().kl_divergence(layer.prior()) for layer in self._gaussian]))
        if self._probe is not None and any(name.startswith("val_") for name in logs):
            logs |= self._winners()

    def _winners(self):
        learner, task = self.model, self._task
        weights, state = learner.network.trainable_variables, learner.network.non_trainable_variables
        inputs, _, _ = learner.call_network(weights, state, task.query_x[0], task.key[0], training=False, probe=self._probe)
        entropies, kl = [], 0.0
        for h, competitors in zip(tf.nest.flatten(inputs), self._competitors, strict=True):
            p = softmax(split_blocks(h, competitors)).numpy().astype("float64")
            entropy = -(p * np.log(np.maximum(p, 1e-300))).sum(-1)  # [queries, ..., blocks]
            entropies.append(entropy)
            kl += (np.log(competitors) - entropy).reshape(len(entropy), -1).sum(1).mean()
        return {"winners_entropy": _mean(entropies), "winners_kl": float(kl)}


def _mean(arrays):
    """The mean over all elements of several arrays."""
    return float(np.concatenate([np.ravel(array) for array in arrays]).mean(dtype="float64"))
