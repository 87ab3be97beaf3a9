"""Keras's callbacks that follow a learner's score in the mode `auto`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks
from stochlwta_tf.learners import MAML, Reptile
from stochlwta_tf.learners.monitoring import set_direction
from tests.helpers.small_learners import point_classes, point_mlp


@pytest.mark.parametrize(
    ("monitor", "score", "better", "mode"),
    [
        ("val_accuracy", "accuracy", True, "max"),
        ("support_accuracy", "accuracy", True, "max"),
        ("val_mse", "mse", False, "min"),
        ("query_mse", "mse", False, "min"),
        ("val_diverged", "accuracy", True, "min"),
        ("val_loss", "accuracy", True, "auto"),  # which Keras knows
        ("val_other", "accuracy", True, "auto"),
    ],
)
def test_the_direction_follows_from_the_score(monitor, score, better, mode):
    callbacks = [keras.callbacks.EarlyStopping(monitor=monitor), keras.callbacks.ReduceLROnPlateau(monitor=monitor)]
    set_direction([*callbacks, keras.callbacks.CSVLogger("never"), None], score, better)
    assert [c.mode for c in callbacks] == [mode, mode]
    set_direction(None, score, better)


def test_a_mode_that_is_given_stays():
    callback = keras.callbacks.EarlyStopping(monitor="val_accuracy", mode="min")
    set_direction(callback, "accuracy", True)
    assert callback.mode == "min"


def test_stopping_keeping_and_slowing_follow_the_accuracy(tmp_path, monkeypatch):
    """Accuracies 0.5, 0.9, 0.2, 0.1: the second is the best, and training stops two epochs after it."""
    learner = Reptile(point_mlp(), inner_steps=1)
    learner.compile(keras.optimizers.SGD(1.0))
    tasks = point_classes(1)
    data = tf.data.Dataset.from_tensors(tasks._asdict())
    scripted = iter([0.5, 0.9, 0.2, 0.1, 0.1, 0.1])
    monkeypatch.setattr(learner, "evaluate", lambda *_, **__: {"accuracy": next(scripted)})
    stop = keras.callbacks.EarlyStopping(monitor="val_accuracy", patience=2)
    keep = keras.callbacks.ModelCheckpoint(str(tmp_path / "{epoch}.keras"), monitor="val_accuracy", save_best_only=True)
    slow = keras.callbacks.ReduceLROnPlateau(monitor="val_accuracy", patience=1, factor=0.5)
    history = learner.fit(data, epochs=6, validation_data=data, verbose=0, callbacks=[stop, keep, slow])
    assert len(history.epoch) == 4 and stop.best == 0.9
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1.keras", "2.keras"]
    assert float(learner.optimizer.learning_rate) == 0.25


def test_a_learner_is_exported_without_a_signature(tmp_path):
    learner = MAML(networks.mlp((2,), 1, units=(3,)), likelihood="gaussian", inner_steps=1)
    learner.export(tmp_path / "exported", verbose=False)
    x = np.random.default_rng(0).normal(size=(5, 2)).astype("float32")
    exported = tf.saved_model.load(str(tmp_path / "exported"))
    np.testing.assert_allclose(exported.serve(x), learner.network(x), atol=1e-6)
