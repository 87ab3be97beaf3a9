"""A classifier that ends in probabilities: the likelihood takes their softmax once more."""

import warnings

import keras

_PROBABILITIES = ("softmax", "sigmoid")


def warn_of_probabilities(network: keras.Model) -> None:
    """Warns of a classifier whose last layer is a softmax or a sigmoid, where logits are expected.

    With N classes a softmax of probabilities gives none more than e / (e + N − 1), and hardly a gradient.
    """
    last = final_activation(network)
    if last in _PROBABILITIES:
        warnings.warn(
            f"The network of a classifier must end in logits, of which the likelihood takes the softmax: remove the final activation. "
            f"Received: a last layer with activation={last!r}",
            stacklevel=4,
        )


def final_activation(network: keras.Model) -> str | None:
    """Name of the activation that a network ends with, as far as its last layer shows it."""
    history = getattr(network.outputs[0], "_keras_history", None) if getattr(network, "outputs", None) else None
    last = history.operation if history else (network.layers[-1] if network.layers else None)
    if isinstance(last, keras.Model):
        return final_activation(last)
    if isinstance(last, keras.layers.Softmax):
        return "softmax"
    return getattr(getattr(last, "activation", None), "__name__", None)
