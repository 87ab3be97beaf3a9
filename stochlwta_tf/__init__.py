"""Stochastic competing units for model-agnostic meta-learning: layers, networks, learners and tasks, in TensorFlow and Keras.

Importing the package registers its classes with Keras, so that `keras.saving.load_model` reads every model that it saved.
"""

import keras

if keras.backend.backend() != "tensorflow":
    raise ImportError(
        f"stochlwta_tf runs on Keras's TensorFlow backend: set KERAS_BACKEND=tensorflow. Received: {keras.backend.backend()!r}"
    )

from stochlwta_tf import layers, learners, networks, objectives, random, tasks

__version__ = "0.1.0"
__all__ = ["layers", "learners", "networks", "objectives", "random", "tasks"]
