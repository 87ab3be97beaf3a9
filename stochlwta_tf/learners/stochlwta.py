"""StochLWTA-ML, the method of the paper."""

from typing import Annotated, Any

import keras
from pydantic import Field

from stochlwta_tf.learners.reptile import Reptile


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class StochLWTA(Reptile):
    """Meta-learns the posterior of a network of stochastic competing units.

    Kalais & Chatzis, *Stochastic Deep Networks with Linear Competing Units for Model-Agnostic Meta-Learning* (ICML 2022), algorithms 1
    and 2.  The network has Gaussian weights, phi = {mean, rho}, and blocks of units whose winners are sampled.  The inner steps of a
    task descend the negative ELBO of its support set (eq. 10; the paper prints the update with the sign of an ascent)

        phi' ← phi' − eta ∇ ( sum −log p(y | x, w, xi) + λ_ξ KL[q(xi) || p(xi)] + λ_w KL[q(w) || p(w)] )

    with one sample of w, and of every winner xi by its Gumbel-softmax relaxation, per step.  The outer step is Reptile's:
    phi ← phi + beta mean(phi' − phi).  A prediction averages the logits of B draws of w and of hard winners (eq. 11).

    The two λ are options of the network's layers. The likelihood is a sum over examples: with a mean, each step at the paper's rate of
    0.003 is shorter by the number of examples.

    Args:
        network: A built `keras.Model`, such as `networks.dense_lwta(...)`.
        draws: B.
        **kwargs: Arguments of `Reptile` and `MetaLearner`.

    Example:

    >>> network = networks.dense_lwta((28, 28, 1), 20, winners_kl_weight=0, weights_kl_weight=0)  # 1 is eq. 10
    >>> learner = StochLWTA(network)
    >>> learner.compile(keras.optimizers.SGD(keras.optimizers.schedules.PolynomialDecay(0.25, 60_000, 0.0)))
    >>> learner.fit(Omniglot("train", batch=50, seed=0, way=20, shot=1, train_queries=0).dataset(), steps_per_epoch=60_000)
    """

    def __init__(self, network: keras.Model, *, draws: Annotated[int, Field(ge=1)] = 4, **kwargs: Any) -> None:
        super().__init__(network, draws=draws, **kwargs)

    def inner_objective(self, y, outputs, losses, label):
        """The negative ELBO (eq. 10); `losses` are the KL terms of the layers, times their λ."""
        return self.objective(y, outputs, losses, self.inner_loss, label)
