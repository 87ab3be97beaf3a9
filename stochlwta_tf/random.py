"""Counter-based noise: Threefry-2x32-20, a pure function of a key and a position.

Reference: Salmon, Moraes, Dror, Shaw, *Parallel Random Numbers: As Easy as 1, 2, 3* (SC 2011).

A key is two 32-bit words (an integer tensor of shape `[2]`).  The same key and shape give the same numbers eagerly, in a graph, under XLA
and inside `tf.vectorized_map`; different keys give independent streams.  Every task, step and layer gets its own key with `fold_in` and
`split`; there is no global state, and a batch of tasks draws exactly what its tasks would draw one at a time.

Keys may be stacked, `[..., 2]`: each then gives its own numbers, and the results are stacked along the same leading axes.

Everything here is elementwise integer arithmetic, which XLA vectorises and fuses: on a CPU it is far faster than TensorFlow's own
stateless generators under XLA, which are lowered to a scalar loop.

Example:

>>> key = fold_in(key_from_seed(0), 17)
>>> normal(key, (3, 2)).shape
TensorShape([3, 2])
"""

import functools
import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
_PARITY = 0x1BD11BDA
_ROUNDS = 20


def _rotate_left(x: Any, distance: int) -> Any:
    shift: Any = tf.bitwise if tf.is_tensor(x) else np
    return shift.left_shift(x, np.uint32(distance)) | shift.right_shift(x, np.uint32(32 - distance))


def threefry2x32(key: tf.Tensor, count0: tf.Tensor, count1: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Encrypts two counter words under a key with the 20 rounds of Threefry-2x32.

    Args:
        key: Integer tensor `[..., 2]`; its low 32 bits are used.
        count0, count1: uint32 tensors of one shape, which broadcasts against the key's leading axes.

    Returns:
        Two uint32 tensors of the broadcast shape.
    """
    if tf.executing_eagerly():  # in NumPy, whose operations start ten times as quickly
        with np.errstate(over="ignore"):
            x0, x1 = _encrypt(*(tf.cast(word, tf.uint32).numpy() for word in (key, count0, count1)))
        return tf.constant(x0), tf.constant(x1)
    words = _compiled_encrypt(tf.cast(key, tf.uint32), count0, count1)
    words[0].op.pfor_converter = _encrypt_stacked
    shape = tf.broadcast_static_shape(key.shape[:-1], tf.broadcast_static_shape(count0.shape, count1.shape))
    for word in words:
        word.set_shape(shape)
    return words


def _encrypt(key: Any, count0: Any, count1: Any) -> tuple[Any, Any]:
    """On uint32 tensors or arrays."""
    first, second = key[..., 0], key[..., 1]
    schedule = (first, second, first ^ second ^ np.uint32(_PARITY))
    x0, x1 = count0 + schedule[0], count1 + schedule[1]
    for r in range(_ROUNDS):
        x0 = x0 + x1
        x1 = _rotate_left(x1, _ROTATIONS[(r // 4) % 2][r % 4]) ^ x0
        if r % 4 == 3:
            injection = r // 4 + 1
            x0 = x0 + schedule[injection % 3]
            x1 = x1 + schedule[(injection + 1) % 3] + np.uint32(injection)
    return x0, x1


# In a graph that XLA does not compile, each of its hundred operations would write its result to memory. One trace serves all shapes.
_compiled_encrypt = tf.function(_encrypt, input_signature=[tf.TensorSpec(None, tf.uint32)] * 3, jit_compile=True, autograph=False)


def _encrypt_stacked(call: Any) -> list:
    """How `tf.vectorized_map` converts a call of `_compiled_encrypt`: into one call for the whole loop.

    It would convert the hundred operations inside one by one, at each call again, which took most of the time of tracing a learner.
    """
    ranks = [value.t.shape.rank - value.is_stacked - of_words for value, of_words in zip(call.inputs, (1, 0, 0))]
    aligned = []
    for value, rank in zip(call.inputs, ranks):
        # The loop is the first axis of what it stacks; further axes, after it, align that for broadcasting.
        axes = (slice(None), *[tf.newaxis] * (max(ranks) - rank))
        aligned.append(value.t[axes] if value.is_stacked else value.t)
    return [call.inputs[0]._replace(t=word, is_stacked=True) for word in threefry2x32(*aligned)]


def key_from_seed(seed: int) -> tf.Tensor:
    """The root key of an integer seed (its low 64 bits), as a uint32 tensor `[2]`.

    Raises:
        ValueError: The seed is not an integer.
    """
    try:
        seed = operator.index(seed) & 0xFFFFFFFFFFFFFFFF
    except TypeError as error:
        raise ValueError(f"`seed` must be an integer. Received: seed={seed!r}") from error
    return tf.constant([seed >> 32, seed & 0xFFFFFFFF], tf.uint32)


def fold_in(key: tf.Tensor, word: int | tf.Tensor, tag: int | tf.Tensor = 0) -> tf.Tensor:
    """A new key, from a key and an integer `word`; `tag` keeps uses with the same word apart.

    A tensor of words gives a key for each, `[*word.shape, 2]`; stacked keys are each folded with the word.
    """
    return tf.stack(threefry2x32(key, tf.cast(word, tf.uint32), tf.cast(tag, tf.uint32)), axis=-1)


def split(key: tf.Tensor, n: int, tag: int = 0) -> tf.Tensor:
    """`n` keys from one, as a uint32 tensor `[n, 2]`; row `i` equals `fold_in(key, i, tag)`."""
    return tf.stack(threefry2x32(key, tf.constant(np.arange(n, dtype="uint32")), tf.constant(np.full(n, tag, "uint32"))), axis=1)


def bits(key: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
    """Uniform 32-bit words of the given shape, which may hold scalar tensors where a size is known only at run time.

    Stacked keys `[..., 2]` give `[..., *shape]`.
    """
    fixed = _fixed(shape)
    if fixed:
        n = math.prod(shape)
        half = tf.constant(np.arange((n + 1) // 2, dtype="uint32"))  # a constant lets XLA and vectorized_map see a fixed size
    else:
        n = tf.reduce_prod(tf.stack(shape))
        half = tf.cast(tf.range(_power_of_two((n + 1) // 2)), tf.uint32)
    words = threefry2x32(key if key.shape.rank == 1 else key[..., None, :], half, tf.zeros_like(half))
    if not fixed:
        words = tuple(word[..., : (n + 1) // 2] for word in words)
    stacked = [tf.shape(key)[axis] if size is None else size for axis, size in enumerate(key.shape[:-1])]
    return tf.reshape(tf.concat(words, axis=-1)[..., :n], [*stacked, *shape])


def _fixed(shape: Sequence[Any]) -> bool:
    return all(isinstance(size, (int, np.integer)) for size in shape)


def _power_of_two(n: tf.Tensor) -> tf.Tensor:
    """The least power of two that is not below `n`: the noise of every other size is cut from one that is compiled already."""
    powers = tf.constant([2**i for i in range(31)])
    return tf.gather(powers, tf.searchsorted(powers, n[None])[0])


def _as_one_program(draw: Callable) -> Callable:
    """Lets a graph call `draw(key, shape)` as one XLA program, where the shape is fixed.

    Otherwise each of its operations would write as many numbers to memory, which took as long again as Threefry.
    """

    @functools.cache
    def compiled(shape: tuple[int, ...]) -> Callable:
        return tf.function(functools.partial(draw, shape=shape), jit_compile=True, autograph=False)

    @functools.wraps(draw)
    def whole(key: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
        if tf.executing_eagerly() or not _fixed(shape):
            return draw(key, shape)
        noise = compiled(tuple(map(int, shape)))(key)
        # How `tf.vectorized_map` converts the call: into one call for the keys of the whole loop.
        noise.op.pfor_converter = lambda call: call.inputs[0]._replace(t=whole(call.stacked_input(0), shape), is_stacked=True)
        return noise

    return whole


@_as_one_program
def uniform(key: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
    """float32 uniform noise in the open interval: multiples of 2^-23, shifted by half a step, so that neither 0 nor 1 occurs.

    With one bit more the largest value would round to a number whose `erfinv` is infinite, about once in 2^24 draws.
    """
    return tf.cast(tf.bitwise.right_shift(bits(key, shape), tf.constant(9, tf.uint32)), tf.float32) * 2.0**-23 + 2.0**-24


@_as_one_program
def normal(key: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
    """float32 standard normal noise, by inversion; bounded by about 5.4."""
    return tf.math.erfinv(2.0 * uniform(key, shape) - 1.0) * math.sqrt(2.0)


@_as_one_program
def gumbel(key: tf.Tensor, shape: Sequence[Any]) -> tf.Tensor:
    """float32 standard Gumbel noise, -log(-log u)."""
    return -tf.math.log(-tf.math.log(uniform(key, shape)))
