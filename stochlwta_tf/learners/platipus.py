"""PLATIPUS, probabilistic MAML."""

from typing import Annotated, Any, Literal

import keras
import tensorflow as tf
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.layers.batch_normalization import separate_operations
from stochlwta_tf.learners.compiled_model import TRAINING_ONLY
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.learners.meta_gradient import MetaGradientLearner, normal_kl


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class PLATIPUS(MetaGradientLearner):
    """Meta-learns a Gaussian from which initial weights are sampled, each of which a few gradient steps adapt.

    Finn, Xu & Levine, *Probabilistic Model-Agnostic Meta-Learning* (NeurIPS 2018).  With Theta = {mu, sigma², v_q, gamma_p, gamma_q}, each
    of mu's shape, and nll the mean negative log-likelihood:

        p(theta | S) = N(mu − gamma_p ∇ nll(S; mu), sigma²)
        q(theta | Q) = N(mu − gamma_q ∇ nll(Q; mu), v_q)
        w_0 = theta,    w_{i+1} = w_i − eta ∇ nll(S; w_i)
        Theta ← Theta − outer step on ∇ mean over tasks of nll(Q; w_k) + λ KL[q(theta | Q) || p(theta | S)],    theta ~ q(theta | Q)

    with gradients through everything.  A prediction averages over adapted samples of p(theta | S).

    The network's weights, all of them, are mu; the others are learned in log space.  Standard deviations have `min_std` added.

    Args:
        network: A built `keras.Model`.
        kl_weight: λ.
        log_std_initial: Mean of the initial log-standard deviations of both Gaussians, each spread by 0.1.
        mean_lr_initial: Initial gamma_p and gamma_q.
        min_std: Smallest standard deviation.
        draws: Samples of theta, each adapted, that a prediction averages.
        **kwargs: Arguments of `MetaLearner`.

    Example:

    >>> learner = PLATIPUS(networks.mlp((1,), 1), likelihood="gaussian")
    >>> learner.compile(keras.optimizers.Adam(0.001))
    >>> learner.fit(Sinusoid("train", batch=25, seed=0).dataset(), steps_per_epoch=1000)
    """

    draws_differ = True

    def __init__(
        self,
        network: keras.Model,
        *,
        kl_weight: Annotated[float, Field(ge=0), TRAINING_ONLY] = 0.1,
        log_std_initial: Annotated[float, TRAINING_ONLY] = -4.0,
        mean_lr_initial: Annotated[float, Field(gt=0), TRAINING_ONLY] = 0.01,
        min_std: Annotated[float, Field(gt=0)] = 1e-4,
        draws: Annotated[int, Field(ge=1)] = 10,
        average: Literal["logits", "probabilities"] = "probabilities",
        **kwargs: Any,
    ) -> None:
        super().__init__(network, draws=draws, average=average, **kwargs)
        self.kl_weight = kl_weight
        self.log_std_initial = log_std_initial
        self.mean_lr_initial = mean_lr_initial
        self.min_std = min_std
        log_variance = keras.initializers.RandomNormal(2 * log_std_initial, 0.2)
        log_rate = keras.initializers.Constant(tf.math.log(mean_lr_initial).numpy().item())
        self.log_sigma2 = self.add_group("log_sigma2", log_variance)
        self.log_vq = self.add_group("log_vq", log_variance)
        self.log_gamma_p = self.add_group("log_gamma_p", log_rate)
        self.log_gamma_q = self.add_group("log_gamma_q", log_rate)

    def stds(self, log_variances):
        return [tf.exp(0.5 * v) + self.min_std for v in log_variances]

    def prior(self, psi, state, support_x, support_y, key):
        """p(theta | S): means, standard deviations."""
        mu, log_sigma2, log_gamma_p = self.values_of(psi, self.network.trainable_variables, self.log_sigma2, self.log_gamma_p)
        key = random.fold_in(key, 1, Stream.POSTERIOR)
        gradients, _ = self.inner_gradient(mu, state, support_x, support_y, key, "gradient of p(theta | S)")
        return self.descend(mu, gradients, [tf.exp(g) for g in log_gamma_p]), self.stds(log_sigma2)

    def posterior(self, psi, state, task):
        """q(theta | Q): means, standard deviations."""
        mu, log_vq, log_gamma_q = self.values_of(psi, self.network.trainable_variables, self.log_vq, self.log_gamma_q)
        key = random.fold_in(task.key, 2, Stream.POSTERIOR)
        with tf.GradientTape() as tape:
            tape.watch(mu)
            loss, _ = self.query_loss(mu, state, task, key, self.inner_loss, "gradient of q(theta | Q)")
        gradients = self.gradient(tape, loss, mu)
        return self.descend(mu, gradients, [tf.exp(g) for g in log_gamma_q]), self.stds(log_vq)

    def inner_step(self, i, weights, state, x, y, key):
        """Step number `i` on a support set: new weights and state."""
        gradients, state = self.inner_gradient(weights, state, x, y, random.fold_in(key, i, Stream.INNER_STEP), f"inner step {i}")
        return self.descend(weights, gradients, self.inner_lr), state

    def adapt(self, psi, state, support_x, support_y, key, steps=None):
        means, stds = self.prior(psi, state, support_x, support_y, key)
        keys = random.split(key, self.draws, Stream.PREDICTION)
        thetas = self.task_runner.map_draws(lambda k: self.to_vector(self.sample(means, stds, k)), keys)

        def step(i, vectors):  # all draws within a step: tf.vectorized_map has no loop within a draw within a task
            def one(arguments):
                vector, draw_key = arguments
                return self.to_vector(self.inner_step(i, self.from_vector(vector), state, support_x, support_y, draw_key)[0])

            return (self.task_runner.map_draws(one, (vectors, keys)),)

        steps = self.steps_at_test if steps is None else steps
        return self.task_runner.repeat(step, steps, thetas), state

    @separate_operations()
    def meta_loss(self, psi, state, task):
        prior = self.prior(psi, state, task.support_x, task.support_y, task.key)
        posterior = self.posterior(psi, state, task)
        weights = self.sample(*posterior, task.key)
        for i in range(self.inner_steps):  # unrolled: XLA has no gradient of a loop of tf.vectorized_map
            weights, state = self.inner_step(i, weights, state, task.support_x, task.support_y, task.key)
        loss, outputs = self.query_loss(weights, state, task, random.fold_in(task.key, 0, Stream.META_LOSS), "mean", "meta-loss")
        kl = self.kl_weight * normal_kl(*posterior, *prior)
        return self.sum_terms({"meta-loss": loss, "meta-loss: KL[q(theta | Q) || p(theta | S)]": kl}), self.query_score(task, outputs[None])

    def predict_adapted(self, adapted, state, support_x, query_x, key, **how):
        def draw(arguments):
            vector, draw_key = arguments
            return self.call_on_query(self.from_vector(vector), state, support_x, query_x, draw_key, training=False, **how)[0]

        return self.task_runner.map_draws(draw, (*adapted, random.split(key, self.draws, Stream.PREDICTION)))
