"""The common base of methods that differentiate a meta-loss through the inner steps."""

import math

import tensorflow as tf

from stochlwta_tf import random
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.learners.learner import MetaLearner


class MetaGradientLearner(MetaLearner):
    """Base of the learners that descend ∇_psi of the mean over tasks of a meta-loss on queries.

    A subclass implements `meta_loss(psi, state, task)` → (loss, score on the queries) and `adapt`.  What it learns besides the network's
    weights are groups of variables, one per weight, created by `add_group`; `values_of` finds the values of a group in psi.

    Args:
        network: A built `keras.Model`.
        **kwargs: Arguments of `MetaLearner`.
    """

    train_score = "query"

    def add_group(self, name, initializer):
        """New trainable variables of the network's weights' shapes, in their order."""
        # A clone for each: an initializer repeats its numbers for the same shape.
        own = self.network.trainable_variables
        return [self.add_weight(shape=v.shape, dtype=v.dtype, initializer=initializer.clone(), name=f"{name}_{v.name}") for v in own]

    def values_of(self, psi, *groups):
        """The values in psi of lists of variables, such as `network.trainable_variables`: a list for each."""
        values = {id(v): value for v, value in zip(self.trainable_variables, psi)}
        return [[values[id(v)] for v in group] for group in groups]

    def to_vector(self, weights):
        """The network's weights as one vector."""
        return tf.concat([tf.reshape(w, [-1]) for w in weights], 0)

    def from_vector(self, vector):
        """The network's weights in a vector."""
        shapes = [v.shape for v in self.network.trainable_variables]
        return [tf.reshape(w, s) for w, s in zip(tf.split(vector, [math.prod(s) for s in shapes]), shapes)]

    def sample(self, means, stds, key):
        """One sample of the network's weights from N(means, stds²)."""
        # One draw per weight: with a single draw for all, XLA repeats the generator in every use of every piece.
        keys = tf.unstack(random.split(key, len(means), Stream.POSTERIOR))
        return [m + s * tf.cast(random.normal(k, m.shape), m.dtype) for m, s, k in zip(means, stds, keys)]

    def inner_gradient(self, weights, state, x, y, key, label):
        """The gradient of the inner loss on a support set with respect to the weights, and the new state."""
        with tf.GradientTape() as tape:
            tape.watch(weights)
            outputs, state, losses = self.call_network(weights, state, x, key, training=True)
            loss = self.objective(y, outputs, losses, self.inner_loss, label)
        return self.gradient(tape, loss, weights), state

    def query_loss(self, weights, state, task, key, reduction, label):
        """The objective on a task's queries, and the network's outputs."""
        outputs, _, losses = self.call_on_query(weights, state, task.support_x, task.query_x, key, training=True)
        return self.objective(task.query_y, outputs, losses, reduction, label), outputs

    def joint_loss(self, weights, state, task, key, reduction, label):
        """The objective on a task's support set and queries together, and the outputs on the queries.

        The layers' losses of the examples add up; those of the weights, which are the same for both, count once.
        """
        support, _, losses = self.call_network(weights, state, task.support_x, random.fold_in(key, 0), training=True)
        query, _, more = self.call_on_query(weights, state, task.support_x, task.query_x, random.fold_in(key, 1), training=True)
        y, outputs = tf.concat([task.support_y, task.query_y], 0), tf.concat([support, query], 0)
        return self.objective(y, outputs, losses.joined(more), reduction, label), query

    def query_score(self, task, draws):
        """The score on a task's queries of the predictive mean of `draws [B, query, outputs]`."""
        return self.likelihood.score(task.query_y, self.likelihood.predictive(draws))

    def meta_loss(self, psi, state, task):
        """What one task contributes to the meta-loss, and the score on its queries."""
        raise NotImplementedError(f"{type(self).__name__} must implement meta_loss(psi, state, task).")

    def task_update(self, psi, state, task):
        return self.update_by(self.meta_loss, psi, state, task)

    def update_by(self, meta_loss, psi, state, task):
        """The gradient at psi of `meta_loss(psi, state, task)`, which is shaped like psi, and (loss, score)."""
        if task.query_x.shape[0] == 0:
            raise ValueError(f"The meta-loss of {type(self).__name__} needs queries in training tasks. Received: train_queries=0")
        psi = list(psi)
        with tf.GradientTape() as tape:
            tape.watch(psi)
            loss, score = meta_loss(psi, state, task)
        return self.gradient(tape, loss, psi), (loss, score)


def normal_kl(means, stds, other_means, other_stds):
    """KL[N(means, stds²) || N(other_means, other_stds²)], factorised, summed over the elements of lists of tensors."""
    terms = []
    for mean, std, other_mean, other_std in zip(means, stds, other_means, other_stds):
        # As tfd.kl_divergence, whose expm1 of a logarithm XLA differentiates slowly.
        ratio, distance = std / other_std, (mean - other_mean) / other_std
        terms.append(tf.reduce_sum(0.5 * (tf.square(ratio) + tf.square(distance) - 1.0) - tf.math.log(ratio)))
    return tf.add_n(terms)
