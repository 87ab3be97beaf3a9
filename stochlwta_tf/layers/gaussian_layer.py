"""The common base of layers with Gaussian weights: the posterior, its samples and its KL divergence to the prior."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf
import tensorflow_probability as tfp
from keras import ops

from stochlwta_tf import random

tfd = tfp.distributions

# exp(rho) underflows to 0 below −88 in float32, where the log in the KL would be infinite.
_SMALLEST_STD = 1e-12
# And exp(rho) overflows above 88.7.
_LARGEST_RHO = 88.0
# The derivative of a square root is infinite at 0, which local reparameterisation meets at every all-zero input.
_LOCAL_VARIANCE_FLOOR = 1e-10


@keras.saving.register_keras_serializable(package="stochlwta_tf")
class AtLeast(keras.constraints.Constraint):
    """Keeps every element of a variable at or above `minimum`."""

    def __init__(self, minimum: float) -> None:
        self.minimum = minimum

    def __call__(self, w: tf.Tensor) -> tf.Tensor:
        return ops.maximum(w, ops.cast(self.minimum, w.dtype))

    def get_config(self) -> dict[str, Any]:
        return {"minimum": self.minimum}


class GaussianLayer(keras.layers.Layer):
    """Base of the layers whose kernel has the posterior q(w) = N(mean, softplus(rho)²), factorised (eq. 5); biases are points.

    A subclass creates its kernel with `add_gaussian_kernel(shape)` in `build`, and implements `linear(x, kernel)`: its linear map,
    without the bias.  The base draws the kernel, one sample a forward pass, shared by the whole batch:

        w = mean + softplus(rho) eps,    eps ~ N(0, I)

    and, in training, adds `kl_weight` KL[q(w) || N(0, I)] to the layer's losses (eq. 9).

    Args:
        use_bias: Whether to add a point-estimate bias.
        mean_initializer: Initializer of the posterior means.
        rho_initializer: Initializer of rho; rho = −5 is a standard deviation of 0.0067, the published code's.  A number stands for
            N(number, 0.01²).
        bias_initializer: Initializer of the bias; a number is a constant.
        rho_min: Smallest rho; a constraint on the variable.  `None`: no bound.  Both are at most 88.
        kl_weight: Factor of the KL term, λ; 0 disables it.
        kl_estimator: `"closed_form"`, or `"sample"`: log q(w) − log p(w) at the sampled kernel.
        reparameterization: How training draws: `"weight"` samples the kernel; `"local"` samples the outputs of each example, with their
            exact mean and variance (Kingma et al. 2015).  Prediction always samples kernels, so that a draw is one function.
        predict_with: `"sample"`, or `"mean"`: the posterior means, as the published code predicts.
        seed: Integer seed of the layer's noise when it is called on its own; a learner sets the noise key itself.
    """

    def __init__(
        self,
        use_bias: bool = True,
        mean_initializer: Any = "glorot_uniform",
        rho_initializer: Any = -5.0,
        bias_initializer: Any = 0.1,
        rho_min: float | None = -7.0,
        kl_weight: float = 1.0,
        kl_estimator: str = "closed_form",
        reparameterization: str = "weight",
        predict_with: str = "sample",
        seed: int | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        for argument, value, allowed in (
            ("kl_estimator", kl_estimator, ("closed_form", "sample")),
            ("reparameterization", reparameterization, ("weight", "local")),
            ("predict_with", predict_with, ("sample", "mean")),
        ):
            if value not in allowed:
                raise ValueError(f"`{argument}` must be one of {allowed}. Received: {argument}={value!r}")
        for argument, rho in (("rho_initializer", rho_initializer), ("rho_min", rho_min)):
            if isinstance(rho, (int, float)) and not rho <= _LARGEST_RHO:
                raise ValueError(f"`{argument}` must be at most {_LARGEST_RHO:g}, since exp(rho) overflows. Received: {argument}={rho}")
        if kl_weight < 0:
            raise ValueError(f"`kl_weight` must not be negative. Received: kl_weight={kl_weight}")
        if kl_estimator == "sample" and reparameterization == "local":
            raise ValueError(
                "`kl_estimator='sample'` needs a sampled kernel, which `reparameterization='local'` does not draw. "
                "Received: kl_estimator='sample', reparameterization='local'"
            )
        self.use_bias = use_bias
        self.mean_initializer = keras.initializers.get(mean_initializer)
        if isinstance(rho_initializer, (int, float)):
            rho_initializer = keras.initializers.RandomNormal(float(rho_initializer), 0.01)
        self.rho_initializer = keras.initializers.get(rho_initializer)
        if isinstance(bias_initializer, (int, float)):
            bias_initializer = keras.initializers.Constant(float(bias_initializer))
        self.bias_initializer = keras.initializers.get(bias_initializer)
        self.rho_min = rho_min
        self.kl_weight = kl_weight
        self.kl_estimator = kl_estimator
        self.reparameterization = reparameterization
        self.predict_with = predict_with
        self.seed = seed
        self.noise = keras.random.SeedGenerator(seed)

    @property
    def samples_in_prediction(self) -> bool:
        """Whether two predictions differ."""
        return self.predict_with == "sample"

    def add_gaussian_kernel(self, shape: tuple[int | None, ...], outputs: int) -> None:
        constraint = None if self.rho_min is None else AtLeast(self.rho_min)
        self.mean = self.add_weight(shape=shape, initializer=self.mean_initializer, autocast=False, name="mean")
        self.rho = self.add_weight(shape=shape, initializer=self.rho_initializer, constraint=constraint, autocast=False, name="rho")
        self.bias = self.add_weight(shape=(outputs,), initializer=self.bias_initializer, name="bias") if self.use_bias else None

    def linear(self, x: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """The layer's linear map, without bias."""
        raise NotImplementedError(f"{type(self).__name__} must implement linear(x, kernel).")

    @property
    def stddev(self) -> tf.Tensor:
        """Standard deviations of the posterior, softplus(rho)."""
        # log1p(exp) rather than ops.softplus, whose branches and gradient take longer under XLA.
        return ops.log1p(ops.exp(ops.convert_to_tensor(self.rho))) + _SMALLEST_STD

    def posterior(self) -> tfp.distributions.Distribution:
        """q(w), the kernel's posterior, as a `tfd.Independent` Normal of the kernel's shape."""
        return self._independent(tfd.Normal(ops.convert_to_tensor(self.mean), self.stddev))

    def prior(self) -> tfp.distributions.Distribution:
        """p(w) = N(0, I), as a `tfd.Independent` Normal of the kernel's shape."""
        zeros = ops.zeros_like(ops.convert_to_tensor(self.mean))
        return self._independent(tfd.Normal(zeros, ops.ones_like(zeros)))

    def _independent(self, normal: tfp.distributions.Distribution) -> tfp.distributions.Distribution:
        return tfd.Independent(normal, reinterpreted_batch_ndims=len(self.mean.shape))

    def _standard_normal(self, shape: Sequence[Any]) -> tf.Tensor:
        return ops.cast(random.normal(self.noise.next(), shape), self.variable_dtype)

    def call(self, x: tf.Tensor, training: bool = False) -> tf.Tensor:
        mean, std = ops.convert_to_tensor(self.mean), self.stddev
        if not training and self.predict_with == "mean":
            outputs = self.linear(x, ops.cast(mean, self.compute_dtype))
        elif training and self.reparameterization == "local":
            x = ops.cast(x, self.variable_dtype)
            center = self.linear(x, mean)
            variance = self.linear(ops.square(x), ops.square(std))
            shape = [size or ops.shape(center)[axis] for axis, size in enumerate(center.shape)]
            outputs = ops.cast(center + ops.sqrt(variance + _LOCAL_VARIANCE_FLOOR) * self._standard_normal(shape), self.compute_dtype)
        else:
            eps = self._standard_normal(mean.shape)
            kernel = mean + std * eps
            outputs = self.linear(x, ops.cast(kernel, self.compute_dtype))
        if training and self.kl_weight:
            if self.kl_estimator == "sample":
                # log q(w) − log p(w) from eps itself: (w − mean) / std has lost it to rounding where std is tiny.
                kl = ops.sum(0.5 * (ops.square(kernel) - ops.square(eps)) - ops.log(std))
            else:
                # As tfd.kl_divergence, which takes an expm1 of every logarithm that a unit prior does not need.
                kl = ops.sum(0.5 * (ops.square(std) + ops.square(mean) - 1.0) - ops.log(std))
            self.add_loss(self.kl_weight * kl)
        return outputs if self.bias is None else outputs + self.bias

    def get_config(self) -> dict[str, Any]:
        config = {
            "use_bias": self.use_bias,
            "mean_initializer": keras.initializers.serialize(self.mean_initializer),
            "rho_initializer": keras.initializers.serialize(self.rho_initializer),
            "bias_initializer": keras.initializers.serialize(self.bias_initializer),
            "rho_min": self.rho_min,
            "kl_weight": self.kl_weight,
            "kl_estimator": self.kl_estimator,
            "reparameterization": self.reparameterization,
            "predict_with": self.predict_with,
            "seed": self.seed,
        }
        return {**super().get_config(), **config}
