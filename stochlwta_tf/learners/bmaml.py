"""BMAML, Bayesian MAML by Stein variational gradient descent."""

import math
from typing import Annotated, Any, Literal

import keras
import numpy as np
import tensorflow as tf
import tensorflow_probability as tfp
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.layers.model_shapes import shapes_of
from stochlwta_tf.learners.compiled_model import TRAINING_ONLY
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.learners.meta_gradient import MetaGradientLearner
from stochlwta_tf.learners.stein import stein_direction

tfd = tfp.distributions


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class BMAML(MetaGradientLearner):
    """Meta-learns a set of particles, which a few steps of Stein variational gradient descent lead to a task's posterior.

    Yoon, Kim, Dia, Kim, Bengio & Ahn, *Bayesian Model-Agnostic Meta-Learning* (NeurIPS 2018).  The inner steps go up the log-posterior,

        w_m ← w_m + eta phi(w_m),    phi(w_m) = (1/M) sum_j [ k(w_j, w_m) ∇ log p(w_j | S) + ∇_{w_j} k(w_j, w_m) ]
        k(w, w') = exp(−||w − w'||² / h),    h = med² / log M,    med the median distance of two particles, a constant to gradients
        log p(w | S) = −nll(S; w) + log p(w)

    (see `stein_direction`).  From the particles w^n after n steps, the chaser, s more steps on S ∪ Q lead to the leader; the meta-loss is

        chaser:  sum_m || w_m^n − stop_gradient(w_m^{n+s}) ||²,        nll:  −(1/|Q|) log (1/M) sum_m p(Q | w_m^n)

    and its gradient goes through the n steps.  A prediction averages over particles.

    Args:
        network: A built `keras.Model`; its weights are the first particle, and the others are drawn again from its
            initializers, without their seeds: identical particles would stay identical.
        particles: M.
        meta_objective: `"chaser"` or `"nll"`.
        leader_steps: s.
        prior: p(w): `"flat"`, or `"gamma"`: N(0, 1/λ) with λ ~ Gamma(2, 2), whose logarithm is one more coordinate of each particle.
        inner_loss: With `"mean"` the log-posterior is divided by the number of examples, so a step does not ascend the posterior itself.
        draws: Draws of a prediction, a multiple of the particles; one per particle by default.
        **kwargs: Arguments of `MetaLearner`.

    Raises:
        ValueError: If `draws` is not a multiple of `particles`.

    Example:

    >>> learner = BMAML(networks.mlp((1,), 1), likelihood="gaussian", inner_lr=0.001, inner_steps=1)
    >>> learner.compile(keras.optimizers.Adam(0.001))
    >>> learner.fit(Sinusoid("train", batch=25, seed=0).dataset(), steps_per_epoch=1000)
    """

    draws_differ = True
    renamed_options = {**MetaGradientLearner.renamed_options, "meta_loss": "meta_objective"}

    def __init__(
        self,
        network: keras.Model,
        *,
        particles: Annotated[int, Field(ge=1), TRAINING_ONLY] = 5,
        meta_objective: Annotated[Literal["chaser", "nll"], TRAINING_ONLY] = "chaser",
        leader_steps: Annotated[int, Field(ge=1), TRAINING_ONLY] = 1,
        prior: Annotated[Literal["flat", "gamma"], TRAINING_ONLY] = "flat",
        inner_loss: Literal["sum", "mean"] = "sum",
        draws: Annotated[int, Field(ge=1)] | None = None,
        average: Literal["logits", "probabilities"] = "probabilities",
        **kwargs: Any,
    ) -> None:
        draws = particles if draws is None else draws
        if draws % particles:
            raise ValueError(f"`draws` must be a multiple of `particles`. Received: draws={draws}, particles={particles}")
        super().__init__(network, inner_loss=inner_loss, draws=draws, average=average, **kwargs)
        self.particles = particles
        self.meta_objective = meta_objective
        self.leader_steps = leader_steps
        self.prior = prior
        self.others = [self._add_others(*copies) for copies in zip(self.network.trainable_variables, *self._redrawn())]
        of_each = {"shape": (particles,), "dtype": self.network.trainable_variables[0].dtype, "initializer": "zeros"}
        self.log_precisions = [self.add_weight(**of_each, name="log_precision")] if prior == "gamma" else []

    def _redrawn(self):
        """The trainable variables of networks built like this one, for each further particle."""
        for _ in range(self.particles - 1):
            try:
                copy = type(self.network).from_config(_anew(self.network.get_config()))
            except (TypeError, NotImplementedError) as error:  # Keras's message is of many lines
                raise ValueError(
                    "BMAML makes a network like the given one for each further particle: a subclass must pass **kwargs on to keras.Model, "
                    f"or implement get_config. Received: {self.network}"
                ) from error
            if not copy.built:
                shape = [size or 1 for size in shapes_of(self.network)[0]]
                copy(tf.zeros([1, *shape], self.network.trainable_variables[0].dtype))
            yield copy.trainable_variables

    def _add_others(self, own, *redrawn):
        constraint = _OfEach(own.constraint) if own.constraint and redrawn else None
        shape, name = (len(redrawn), *own.shape), f"others_{own.name}"
        variable = self.add_weight(shape=shape, dtype=own.dtype, initializer="zeros", constraint=constraint, name=name)
        variable.assign(np.reshape([v.numpy() for v in redrawn], variable.shape))
        return variable

    def initial(self, psi):
        """The particles as rows of a matrix, `[M, coordinates]`."""
        weights, others, log_precisions = self.values_of(psi, self.network.trainable_variables, self.others, self.log_precisions)
        rows = [tf.concat([w[None], o], 0) for w, o in zip(weights, others)] + log_precisions
        return tf.concat([tf.reshape(r, [self.particles, -1]) for r in rows], 1)

    def weights_of(self, particle):
        """The network's weights in a particle, and its log-precision or None."""
        return (self.from_vector(particle[:-1]), particle[-1]) if self.log_precisions else (self.from_vector(particle), None)

    def log_prior(self, weights, log_precision):
        """log p(w, log λ)."""
        precision = tf.exp(log_precision)
        gamma = tfd.Gamma(tf.cast(2.0, precision.dtype), tf.cast(2.0, precision.dtype))
        normal = tfd.Normal(tf.zeros_like(precision), tf.exp(-0.5 * log_precision))
        return tf.add_n([gamma.log_prob(precision) + log_precision, *(tf.reduce_sum(normal.log_prob(w)) for w in weights)])

    def inner_step(self, particles, loss, examples, key, label):
        """One step of all particles, up the log-posterior whose likelihood part is −`loss(weights, key)`."""

        def gradient(arguments):
            particle, particle_key = arguments
            with tf.GradientTape() as tape:
                tape.watch(particle)
                weights, log_precision = self.weights_of(particle)
                value = loss(weights, particle_key)
                if log_precision is not None:
                    prior = -self.log_prior(weights, log_precision) / (examples if self.inner_loss == "mean" else 1)
                    value = self.sum_terms({label: value, f"{label}: prior": prior})
            return -self.gradient(tape, value, particle)

        phi = stein_direction(particles, self.map_particles(gradient, particles, key))
        if self.inner_clip_norm is None and not any(v.constraint for v in self.network.trainable_variables):
            return self.descend([particles], [-phi], self.inner_lr)[0]  # as below, without taking the particles apart
        return tf.stack([self.descend_particle(p, -d) for p, d in zip(tf.unstack(particles), tf.unstack(phi))])

    def map_particles(self, function, particles, key):
        """Stacks `function((particle, its key))`."""
        arguments = particles, random.split(key, self.particles, Stream.POSTERIOR)
        # Unrolled where tasks are vectorized: the gradient of a tf.vectorized_map within another is compiled again in every call. And
        # eagerly, so that `explain_failure` sees the terms.
        if self.task_runner.vectorized or tf.executing_eagerly():
            return tf.stack([function(each) for each in zip(*map(tf.unstack, arguments))])
        return self.task_runner.map_draws(function, arguments)

    def descend_particle(self, particle, gradient):
        (weights, log_precision), (gradients, rate) = self.weights_of(particle), self.weights_of(gradient)
        vector = self.to_vector(self.descend(weights, gradients, self.inner_lr))
        return vector if rate is None else tf.concat([vector, [log_precision - self.inner_lr * rate]], 0)

    def support_step(self, i, particles, state, x, y, key):
        """Step number `i` on a support set."""
        label = f"inner step {i}"

        def loss(weights, particle_key):
            outputs, _, losses = self.call_network(weights, state, x, particle_key, training=True)
            return self.objective(y, outputs, losses, self.inner_loss, label)

        examples = y.shape[0] or tf.cast(tf.shape(y)[0], particles.dtype)  # known only at run time where any number may come
        return self.inner_step(particles, loss, examples, random.fold_in(key, i, Stream.INNER_STEP), label)

    def adapt(self, psi, state, support_x, support_y, key, steps=None):
        def step(i, particles):
            return (self.support_step(i, particles, state, support_x, support_y, key),)

        steps = self.steps_at_test if steps is None else steps
        return self.task_runner.repeat(step, steps, self.initial(psi)), state

    def leader(self, particles, state, task):
        """The particles after s more steps, on the support set and the queries."""
        for i in range(self.leader_steps):

            def loss(weights, key, label=f"leader step {i}"):
                return self.joint_loss(weights, state, task, key, self.inner_loss, label)[0]

            examples = task.support_y.shape[0] + task.query_y.shape[0]
            particles = self.inner_step(particles, loss, examples, random.fold_in(task.key, i, Stream.LEADER), f"leader step {i}")
        return particles

    def meta_loss(self, psi, state, task):
        particles = self.initial(psi)
        for i in range(self.inner_steps):  # unrolled: XLA has no gradient of a loop of tf.vectorized_map
            particles = self.support_step(i, particles, state, task.support_x, task.support_y, task.key)
        key = random.fold_in(task.key, 0, Stream.META_LOSS)

        def query(arguments):
            weights, _ = self.weights_of(arguments[0])
            return self.call_on_query(weights, state, task.support_x, task.query_x, arguments[1], training=True)[0]

        draws = self.map_particles(query, particles, key)
        if self.meta_objective == "chaser":
            leader = tf.stop_gradient(self.leader(particles, state, task))
            loss = self.sum_terms({"meta-loss: distance to the leader": tf.reduce_sum(tf.math.squared_difference(particles, leader))})
        else:
            log_p = -tf.stack([tf.reduce_sum(self.likelihood.nll(task.query_y, outputs)) for outputs in tf.unstack(draws)])
            mixture = tf.reduce_logsumexp(log_p) - math.log(self.particles)
            loss = self.sum_terms({"meta-loss: negative log-likelihood": -mixture / task.query_y.shape[0]})
        return loss, self.query_score(task, draws)

    def predict_adapted(self, adapted, state, support_x, query_x, key, **how):
        particles = tf.tile(adapted[0], [self.draws // self.particles, 1])

        def draw(arguments):
            weights, _ = self.weights_of(arguments[0])
            return self.call_on_query(weights, state, support_x, query_x, arguments[1], training=False, **how)[0]

        return self.task_runner.map_draws(draw, (particles, random.split(key, self.draws, Stream.PREDICTION)))


def _anew(config):
    """A configuration without seeds, and, where Keras is loading a model, without the marks by which it would share objects."""
    if isinstance(config, dict):
        return {key: None if key == "seed" else _anew(value) for key, value in config.items() if key != "shared_object_id"}
    return [_anew(value) for value in config] if isinstance(config, list) else config


class _OfEach(keras.constraints.Constraint):
    """A constraint on one weight, for the stacked weights of several particles."""

    def __init__(self, constraint):
        self._constraint = constraint

    def __call__(self, values):
        return keras.ops.stack([self._constraint(v) for v in keras.ops.unstack(values)])
