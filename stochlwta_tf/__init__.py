"""Stochastic competing units for model-agnostic meta-learning: layers, networks, learners and tasks, in TensorFlow and Keras.

Importing the package registers its classes with Keras as soon as Keras itself is imported, before or after, so that
`keras.saving.load_model` reads every model that was saved.  TensorFlow is loaded with the first of them, not with the package: a command
line that is wrong is answered at once.
"""

import importlib
import sys

import wrapt

__version__ = "0.1.0"
_MODULES = ("layers", "learners", "networks", "objectives", "random", "tasks")
_FUNCTIONS = {"load": "inference", "models": "inference", "read_pictures": "inference"}
__all__ = [*_MODULES, *_FUNCTIONS]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    if name in _FUNCTIONS:
        return getattr(importlib.import_module(f"{__name__}.{_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *__all__})


def _register(imported):
    """Imports what has classes to register.  Amid the import of one of them it waits for the end of that one, which calls it again."""
    under_way = [module for name in _MODULES if (module := sys.modules.get(f"{__name__}.{name}")) and module.__spec__._initializing]
    if not [module for module in under_way if module is not imported]:
        for name in _MODULES:
            importlib.import_module(f"{__name__}.{name}")


def _on_keras(keras):
    if keras.backend.backend() != "tensorflow":
        raise ImportError(
            f"stochlwta_tf runs on Keras's TensorFlow backend: set KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()!r}"
        )
    _register(keras)


for _name in _MODULES:
    wrapt.register_post_import_hook(_register, f"{__name__}.{_name}")
wrapt.register_post_import_hook(_on_keras, "keras")
