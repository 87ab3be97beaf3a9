"""What `train.py --profile` shows: the stages of the start, and a trace of the first meta-iterations."""

import sys

import keras
import tensorflow as tf

from stochlwta_tf.training.run_folder import writing

_TRACED = 20  # executions in a trace


class Profile(keras.callbacks.Callback):
    """Prints the stages after the first execution, and writes a trace of the next ones for TensorBoard's profile plugin.

    Args:
        stages: The `Stages` until `fit`.
        folder: TensorBoard's folder of the run.
    """

    def __init__(self, stages, folder):
        super().__init__()
        self._stages, self._folder, self._count = stages, folder, 0

    def on_train_batch_end(self, batch, logs=None):
        self._count += 1
        if self._count == 1:
            self._stages.end("first meta-iterations: tracing, compiling")
            print(self._stages.text(), file=sys.stderr, flush=True)
            with writing(self._folder):
                tf.profiler.experimental.start(str(self._folder))
        elif self._count == 1 + _TRACED:
            self._stop()

    def on_train_end(self, logs=None):
        if 1 <= self._count <= _TRACED:
            self._stop()

    def _stop(self):
        with writing(self._folder):
            tf.profiler.experimental.stop()
        print(f"The trace is in {self._folder / 'plugins' / 'profile'}.", file=sys.stderr, flush=True)
