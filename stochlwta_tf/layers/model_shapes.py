"""The shapes of one input and of one output of a network, however it is written."""

from typing import Any

import keras


def shapes_of(network: keras.Model) -> tuple[tuple[int | None, ...], int]:
    """The shape of one input, and the width of the output, of a built network.

    Args:
        network: A `keras.Model` from one tensor `[batch, ...]` to one tensor `[batch, outputs]`: sequential, functional, or a subclass that
            was built or called.

    Returns:
        Shape of one input, in which a size may be None; number of outputs.

    Raises:
        ValueError: If it has several inputs or outputs, is not built, or its outputs are not `[batch, outputs]`.

    Example:

    >>> shapes_of(keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(5)]))
    ((28, 28, 1), 5)
    """
    x = getattr(network, "inputs", None)
    if x:  # of a subclass there are none
        inputs, outputs = [tensor.shape for tensor in x], [tensor.shape for tensor in network.outputs]
    else:
        config = network.get_build_config() or {}
        shape = config.get("input_shape")
        if not shape or not all(size is None or isinstance(size, int) for size in shape):
            raise ValueError(
                f"A subclassed network must have one input, and be called once on an example before it is wrapped. Received: {network}"
            )
        inputs = [tuple(shape)]
        outputs = [y.shape for y in _flat(network.compute_output_spec(keras.KerasTensor((None, *shape[1:]), network.input_dtype)))]
    if len(inputs) != 1 or len(outputs) != 1 or len(outputs[0]) != 2 or outputs[0][-1] is None:
        raise ValueError(
            "A network must have one input and one output [examples, outputs]. "
            f"Received: inputs={_listed(inputs)}, outputs={_listed(outputs)}"
        )
    return tuple(inputs[0][1:]), outputs[0][-1]


def _flat(value: Any) -> list[Any]:
    return keras.tree.flatten(value)


def _listed(shapes: list[Any]) -> str:
    return ", ".join(str(tuple(shape)) for shape in shapes)
