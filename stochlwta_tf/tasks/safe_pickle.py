"""Loads arrays in dictionaries from untrusted pickle files, without calling the functions that a pickle may name."""

import collections
import pickle
from pathlib import Path
from typing import Any

import numpy as np

from stochlwta_tf.errors import DataError


def _bytes(text: str, encoding: str) -> bytes:
    """How Python 3 writes bytes into a pickle of protocol 2; `codecs.encode` itself knows encodings that expand without bound."""
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are encoded as {encoding}")
    return text.encode("latin1")


def _allowed() -> dict[tuple[str, str], Any]:
    names: dict[tuple[str, str], Any] = {
        ("numpy", "ndarray"): np.ndarray,
        ("numpy", "dtype"): np.dtype,
        ("collections", "OrderedDict"): collections.OrderedDict,
    }
    core: Any = np  # whose `_core` its types do not show
    multiarray, numeric = core._core.multiarray, core._core.numeric
    for package in ("numpy.core", "numpy._core"):  # before and since NumPy 2
        names[f"{package}.multiarray", "_reconstruct"] = multiarray._reconstruct
        names[f"{package}.multiarray", "scalar"] = multiarray.scalar
        names[f"{package}.numeric", "_frombuffer"] = numeric._frombuffer
    for builtins in ("builtins", "__builtin__"):  # Python 3 and 2
        names |= {(builtins, "bytearray"): bytearray, (builtins, "range"): range, (builtins, "xrange"): range}
    return names | {("_codecs", "encode"): _bytes}


class _Unpickler(pickle.Unpickler):
    allowed = _allowed()

    def find_class(self, module: str, name: str) -> Any:
        try:
            return self.allowed[module, name]
        except KeyError:
            raise _Forbidden(f"{module}.{name}") from None


class _Forbidden(Exception):
    pass


def load(path: str | Path) -> Any:
    """What a pickle file holds, if it consists of plain Python values and NumPy arrays; Python 2 pickles are supported.

    Nothing else is looked up, imported or called.  Python 2 text is returned as bytes.

    Args:
        path: The file.

    Raises:
        DataError: If it is not a pickle, is truncated, or contains anything else; the message names the file.

    Example:

    >>> load("mini-imagenet-cache-test.pkl")["image_data"].shape
    (12000, 84, 84, 3)
    """
    try:
        with open(path, "rb") as file:
            return _Unpickler(file, encoding="bytes").load()
    except _Forbidden as error:
        raise DataError(f"{path}: a cache of images needs NumPy arrays alone; nothing of the file was run. Received: {error}.") from None
    except Exception as error:  # a file that is no pickle raises nearly any type
        with open(path, "rb") as file:
            begin = file.read(24)
        what = "a web page" if begin.lstrip()[:1] == b"<" else "not a whole pickle"
        raise DataError(f"{path}: {what}, get it again ({type(error).__name__}). Received: a file that begins with {begin!r}.") from error
