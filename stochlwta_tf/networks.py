"""The networks of the paper, as ordinary Keras models: every kind of unit with every kind of weight.

`dense_lwta` is the paper's own network, `conv4` its baselines', `mlp` the one of the regressions (section 4 and appendix B).
"""

import math
from typing import Annotated, Any, Literal

import keras
from pydantic import Field

from stochlwta_tf.layers import (
    BatchNormalization,
    DeterministicLWTA,
    GaussianConv2D,
    GaussianDense,
    InputScale,
    MaxPooling2x2,
    StochasticLWTA,
)
from stochlwta_tf.registry import Registry

Activation = Literal["relu", "tanh", "deterministic_lwta", "stochastic_lwta"]
Weights = Literal["point", "gaussian"]
Count = Annotated[int, Field(ge=1)]
NotNegative = Annotated[float, Field(ge=0)]
Positive = Annotated[float, Field(gt=0)]

# Images are [height, width, channels] whatever `keras.config.image_data_format()` is, so it is passed to every layer.
_CHANNELS_LAST = "channels_last"


class LayerFactory:
    """Creates the layers of a network, with one kind of weights and one kind of activation.

    Args:
        activation: What follows each hidden layer.
        weights: `"point"` estimates, or `"gaussian"` posteriors (eq. 5).
        competitors: J, units in a block, for the two kinds of LWTA; must divide the units of each hidden layer.
        temperature: Of the winners' relaxation in training.
        test_temperature: Of the relaxation in prediction; 0 samples hard winners.
        probability_floor: Added to each winner's probability.
        winners_kl_weight: λ of KL[q(xi) || Categorical(1/J)].
        weights_kl_weight: λ of KL[q(w) || N(0, I)].
        kl_estimator: `"closed_form"` or `"sample"`, for both.
        reparameterization: `"weight"` or `"local"`, of Gaussian weights in training.
        predict_with: `"sample"` or `"mean"`, of Gaussian weights in prediction.
        rho_initial: Mean of the initial rho; the standard deviation of a weight is softplus(rho).
        rho_min: Smallest rho, or none.
        bias_initial: Initial value of the biases.
    """

    def __init__(
        self,
        activation: Activation,
        weights: Weights,
        *,
        competitors: Annotated[int, Field(ge=2)] = 2,
        temperature: Positive = 0.67,
        test_temperature: NotNegative = 0.0,
        probability_floor: NotNegative = 0.0,
        winners_kl_weight: NotNegative = 1.0,
        weights_kl_weight: NotNegative = 1.0,
        kl_estimator: Literal["closed_form", "sample"] = "closed_form",
        reparameterization: Literal["weight", "local"] = "weight",
        predict_with: Literal["sample", "mean"] = "sample",
        rho_initial: float = -5.0,
        rho_min: float | None = -7.0,
        bias_initial: float = 0.1,
    ) -> None:
        self._activation = activation
        self._gaussian = weights == "gaussian"
        self._competitors = competitors
        self._bias = keras.initializers.Constant(bias_initial)
        self._winners: dict[str, Any] = {
            "temperature": temperature,
            "test_temperature": test_temperature,
            "probability_floor": probability_floor,
            "kl_weight": winners_kl_weight,
            "kl_estimator": kl_estimator,
        }
        self._posterior: dict[str, Any] = {
            "rho_initializer": rho_initial,
            "rho_min": rho_min,
            "kl_weight": weights_kl_weight,
            "kl_estimator": kl_estimator,
            "reparameterization": reparameterization,
            "predict_with": predict_with,
        }

    def dense(self, units: int, name: str) -> keras.layers.Layer:
        if self._gaussian:
            return GaussianDense(units, bias_initializer=self._bias, name=name, **self._posterior)
        return keras.layers.Dense(units, bias_initializer=self._bias, name=name)

    def convolution(self, filters: int, strides: int, name: str) -> keras.layers.Layer:
        shape = {"kernel_size": 3, "strides": strides, "padding": "same", "bias_initializer": self._bias, "name": name}
        if self._gaussian:
            return GaussianConv2D(filters, **shape, **self._posterior)
        return keras.layers.Conv2D(filters, data_format=_CHANNELS_LAST, **shape)

    def activation(self, name: str) -> keras.layers.Layer:
        if self._activation == "stochastic_lwta":
            return StochasticLWTA(self._competitors, name=name, **self._winners)
        if self._activation == "deterministic_lwta":
            return DeterministicLWTA(self._competitors, name=name)
        return keras.layers.Activation(self._activation, name=name)


def dense_lwta(
    input_shape: tuple[int, ...],
    outputs: int,
    *,
    blocks: tuple[Count, ...] = (16, 8),
    competitors: Annotated[int, Field(ge=2)] = 2,
    activation: Activation = "stochastic_lwta",
    weights: Weights = "gaussian",
    input_scale: bool = False,
    max_pool: bool = False,
    **layers: Any,
) -> keras.Model:
    """The paper's network: dense layers of R blocks of J competing units, and a linear head.

    Args:
        input_shape: Shape of one input; it is flattened.
        outputs: Width of the head: classes, or regression targets.
        blocks: R of each hidden layer, which has R J units.
        competitors: J.
        activation, weights: See `LayerFactory`.  With ReLU or tanh the hidden layers keep their R J units.
        input_scale: Scale and shift every input feature, then ReLU, as the published code.
        max_pool: A 2×2 max-pooling of the input image before the first layer, as the published code on mini-ImageNet.
        **layers: Further options of `LayerFactory`.

    Returns:
        A `keras.Model` from `[batch, *input_shape]` to `[batch, outputs]`.

    Raises:
        ValueError: If an option is invalid, or `max_pool` is set for inputs that are not images.

    Example:

    >>> dense_lwta((28, 28, 1), 5, input_scale=True).count_params()
    54549
    """
    make = LayerFactory(activation, weights, competitors=competitors, **layers)
    x = h = keras.Input(input_shape)
    if len(input_shape) > 1:
        h = keras.layers.Flatten(data_format=_CHANNELS_LAST)(h)
    if input_scale:
        h = keras.layers.ReLU(name="input_relu")(InputScale(name="input_scale")(h))
    if max_pool:
        if len(input_shape) != 3:
            raise ValueError(f"`max_pool` needs images `[height, width, channels]`. Received: input_shape={tuple(input_shape)}")
        h = MaxPooling2x2()(keras.layers.Reshape(input_shape)(h))
        h = keras.layers.Flatten(data_format=_CHANNELS_LAST)(h)
    for i, r in enumerate(blocks, 1):
        h = make.activation(f"units{i}")(make.dense(r * competitors, f"hidden{i}")(h))
    return keras.Model(x, make.dense(outputs, "output")(h), name="dense_lwta")


def mlp(
    input_shape: tuple[int, ...],
    outputs: int,
    *,
    units: tuple[Count, ...] = (64, 64),
    activation: Activation = "tanh",
    weights: Weights = "point",
    **layers: Any,
) -> keras.Model:
    """A multi-layer perceptron on flattened inputs; 1-64-64-1 by default, the regressions' network.

    Args:
        input_shape: Shape of one input; it is flattened.
        outputs: Width of the linear head.
        units: Units of each hidden layer.
        activation, weights: See `LayerFactory`.
        **layers: Further options of `LayerFactory`.

    Returns:
        A `keras.Model` from `[batch, *input_shape]` to `[batch, outputs]`.

    Raises:
        ValueError: If an option is invalid, such as `competitors` that do not divide the units.

    Example:

    >>> mlp((1,), 1).count_params()
    4353
    """
    make = LayerFactory(activation, weights, **layers)
    x = h = keras.Input(input_shape)
    if len(input_shape) > 1:
        h = keras.layers.Flatten(data_format=_CHANNELS_LAST)(h)
    for i, n in enumerate(units, 1):
        h = make.activation(f"units{i}")(make.dense(n, f"hidden{i}")(h))
    return keras.Model(x, make.dense(outputs, "output")(h), name="mlp")


def conv4(
    input_shape: tuple[int, ...],
    outputs: int,
    *,
    filters: Count = 64,
    downsampling: Literal["stride", "max_pool"] = "stride",
    head: Literal["flatten", "average"] = "flatten",
    batch_norm_scale: bool = True,
    batch_norm_scale_initial: Positive = 1.0,
    activation: Activation = "relu",
    weights: Weights = "point",
    **layers: Any,
) -> keras.Model:
    """Four 3×3 convolutions, each with batch normalisation, optional pooling, and activation; then a linear head.

    Args:
        input_shape: `(height, width, channels)`.
        outputs: Width of the head.
        filters: Channels of each convolution.
        downsampling: By a stride of 2 (Omniglot), or by 2×2 max-pooling with same-padding (CIFAR-100, mini-ImageNet).
        head: `"flatten"` the last feature map, or `"average"` it over positions.
        batch_norm_scale: Whether batch normalisation has a trainable scale in addition to its shift.
        batch_norm_scale_initial: Its initial value: units of standard deviation 1 that compete in pairs win by little more than chance.
        activation, weights: See `LayerFactory`; the blocks of LWTA are neighbouring channels, which compete at each position.
        **layers: Further options of `LayerFactory`.

    Returns:
        A `keras.Model` from `[batch, *input_shape]` to `[batch, outputs]`.

    Raises:
        ValueError: If the inputs are not images or an option is invalid.

    Example:

    >>> conv4((28, 28, 1), 5).count_params() - 2 * 4 * 64  # without the batch statistics, which are stored, not trained
    113221
    """
    if len(input_shape) != 3:
        raise ValueError(f"`conv4` needs images `[height, width, channels]`. Received: input_shape={tuple(input_shape)}")
    if not batch_norm_scale and batch_norm_scale_initial != 1:
        raise ValueError(
            "`batch_norm_scale_initial` needs a scale. "
            f"Received: batch_norm_scale={batch_norm_scale}, batch_norm_scale_initial={batch_norm_scale_initial}"
        )
    make = LayerFactory(activation, weights, **layers)
    x = h = keras.Input(input_shape)
    scale = keras.initializers.Constant(batch_norm_scale_initial)
    for i in range(1, 5):
        h = make.convolution(filters, 2 if downsampling == "stride" else 1, f"convolution{i}")(h)
        h = BatchNormalization(scale=batch_norm_scale, gamma_initializer=scale, name=f"normalization{i}")(h)
        if downsampling == "max_pool":
            h = keras.layers.MaxPooling2D(2, padding="same", data_format=_CHANNELS_LAST, name=f"pool{i}")(h)
        h = make.activation(f"units{i}")(h)
    head_of = {"flatten": keras.layers.Flatten, "average": keras.layers.GlobalAveragePooling2D}
    h = head_of[head](data_format=_CHANNELS_LAST)(h)
    return keras.Model(x, make.dense(outputs, "output")(h), name="conv4")


# The source of a network's remaining options, which the configuration reads with its signature.
NETWORKS = Registry("network", {"dense_lwta": dense_lwta, "mlp": mlp, "conv4": conv4})
for _network in NETWORKS.values():
    _network.options_of = LayerFactory


def trainable_parameters(model: keras.Model) -> int:
    """Number of trainable parameters, as the paper counts them."""
    return sum(math.prod(v.shape) for v in model.trainable_variables)


def parameters_of(model: keras.Model) -> dict[str, int]:
    """Numbers of trainable and of stored parameters, as in results."""
    return {"trainable": trainable_parameters(model), "stored": model.count_params()}
