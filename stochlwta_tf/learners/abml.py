"""ABML, amortized Bayesian meta-learning."""

from typing import Annotated, Any, Literal

import keras
import tensorflow as tf
import tensorflow_probability as tfp
from pydantic import Field

from stochlwta_tf import random
from stochlwta_tf.layers.batch_normalization import separate_operations
from stochlwta_tf.learners.compiled_model import TRAINING_ONLY
from stochlwta_tf.learners.functional import Stream
from stochlwta_tf.learners.meta_gradient import MetaGradientLearner, normal_kl

tfd = tfp.distributions


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class ABML(MetaGradientLearner):
    """Meta-learns a Gaussian prior of the weights, from which a few gradient steps lead to each task's Gaussian posterior.

    Ravi & Beatson, *Amortized Bayesian Meta-Learning* (ICLR 2019).  theta = {mu, sigma} is the prior p(w | theta) = N(mu, sigma²) and
    the initial value of a task's posterior q(w; lambda), lambda_0 = theta:

        lambda ← lambda − eta ∇ ( E_q[nll(S)] + λ KL[q(w; lambda) || p(w | theta)] )
        psi ← psi − outer step on ∇ mean over tasks of E_q[nll(S ∪ Q)] + λ KL[q(w; lambda_k) || p(w | theta)] − (1/M) log p(theta)

    with nll a mean over examples (λ is relative to that), and the hyperprior p(theta): mu ~ N(0, 1), 1/sigma² ~ Gamma(1, 0.01).  Gradients
    go through the inner steps and through theta in the KL.  A prediction averages samples of w.

    The network's weights, all of them, are mu; each has its own rho, sigma = softplus(rho) + `min_std`.

    Args:
        network: A built `keras.Model`.
        kl_weight: λ.  Inner steps are stable where eta λ / sigma² is below 2.
        train_draws: Samples of w in each expectation of the inner steps and of the meta-loss.
        training_tasks: M, the number of training tasks: the hyperprior enters once, not once a task.
        rho_initial: Mean of the initial rho, whose standard deviation is 0.01.
        min_std: Smallest sigma.
        draws: Samples of w that a prediction averages.
        **kwargs: Arguments of `MetaLearner`; `inner_clip_norm` bounds the gradients of mu.

    Example:

    >>> learner = ABML(networks.mlp((1,), 1), likelihood="gaussian")
    >>> learner.compile(keras.optimizers.Adam(0.001))
    >>> learner.fit(Sinusoid("train", batch=25, seed=0).dataset(), steps_per_epoch=1000)
    """

    draws_differ = True
    renamed_options = {**MetaGradientLearner.renamed_options, "samples": "train_draws"}

    def __init__(
        self,
        network: keras.Model,
        *,
        kl_weight: Annotated[float, Field(ge=0)] = 1e-4,
        train_draws: Annotated[int, Field(ge=1)] = 1,
        training_tasks: Annotated[int, Field(ge=1), TRAINING_ONLY] = 1_000_000,
        rho_initial: Annotated[float, TRAINING_ONLY] = -5.0,
        min_std: Annotated[float, Field(gt=0)] = 1e-4,
        draws: Annotated[int, Field(ge=1)] = 10,
        average: Literal["logits", "probabilities"] = "probabilities",
        **kwargs: Any,
    ) -> None:
        super().__init__(network, draws=draws, average=average, **kwargs)
        self.kl_weight = kl_weight
        self.train_draws = train_draws
        self.training_tasks = training_tasks
        self.rho_initial = rho_initial
        self.min_std = min_std
        self.rho = self.add_group("rho", keras.initializers.RandomNormal(rho_initial, 0.01))

    def stds(self, rho):
        return [tf.math.softplus(r) + self.min_std for r in rho]

    def divergence(self, mu, rho, theta):
        """λ KL[q(w; lambda) || p(w | theta)]."""
        return self.kl_weight * normal_kl(mu, self.stds(rho), theta[0], self.stds(theta[1]))

    def inner_step(self, i, mu, rho, theta, state, x, y, key):
        """Step number `i` on a support set: new mu, rho and state."""
        label = f"inner step {i}"
        with tf.GradientTape() as tape:
            tape.watch([mu, rho])
            losses = []
            for sample_key in tf.unstack(random.split(random.fold_in(key, i, Stream.INNER_STEP), self.train_draws)):
                outputs, new_state, kl = self.call_network(self.sample(mu, self.stds(rho), sample_key), state, x, sample_key, training=True)
                losses.append(self.objective(y, outputs, kl, self.inner_loss, label))
            loss = self.sum_terms({label: tf.add_n(losses) / self.train_draws, f"{label}: KL to theta": self.divergence(mu, rho, theta)})
        mu_gradients, rho_gradients = self.gradient(tape, loss, [mu, rho])
        rho = [r - self.inner_lr * g for r, g in zip(rho, rho_gradients)]
        return self.descend(mu, mu_gradients, self.inner_lr), rho, new_state

    def adapt(self, psi, state, support_x, support_y, key, steps=None):
        theta = self.values_of(psi, self.network.trainable_variables, self.rho)
        steps = self.steps_at_test if steps is None else steps

        def step(i, mu, rho, state):
            return self.inner_step(i, mu, rho, theta, state, support_x, support_y, key)

        mu, rho, state = self.task_runner.repeat(step, steps, *theta, list(state))
        return [mu, rho], state

    def hyperprior(self, mu, rho):
        """log p(theta): log-densities of the means, and of the precisions."""
        normal, gamma = tfd.Normal(tf.zeros([], mu[0].dtype), 1.0), tfd.Gamma(tf.ones([], mu[0].dtype), 0.01)
        means = [tf.reduce_sum(normal.log_prob(m)) for m in mu]
        return tf.add_n(means + [tf.reduce_sum(gamma.log_prob(1 / tf.square(s))) for s in self.stds(rho)])

    @separate_operations()
    def meta_loss(self, psi, state, task):
        theta = mu, rho = self.values_of(psi, self.network.trainable_variables, self.rho)
        for i in range(self.inner_steps):  # unrolled: XLA has no gradient of a loop of tf.vectorized_map
            mu, rho, state = self.inner_step(i, mu, rho, theta, state, task.support_x, task.support_y, task.key)
        losses, draws = [], []
        for key in tf.unstack(random.split(task.key, self.train_draws, Stream.META_LOSS)):
            loss, outputs = self.joint_loss(self.sample(mu, self.stds(rho), key), state, task, key, "mean", "meta-loss")
            losses.append(loss)
            draws.append(outputs)
        terms = {
            "meta-loss": tf.add_n(losses) / self.train_draws,
            "meta-loss: KL to theta": self.divergence(mu, rho, theta),
            "meta-loss: hyperprior": -self.hyperprior(*theta) / self.training_tasks,
        }
        return self.sum_terms(terms), self.query_score(task, tf.stack(draws))

    def predict_adapted(self, adapted, state, support_x, query_x, key, **how):
        mu, rho = adapted

        def draw(draw_key):
            weights = self.sample(mu, self.stds(rho), draw_key)
            return self.call_on_query(weights, state, support_x, query_x, draw_key, training=False, **how)[0]

        return self.task_runner.map_draws(draw, random.split(key, self.draws, Stream.PREDICTION))
