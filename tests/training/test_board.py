"""TensorBoard's page of hyperparameters."""

import json

import numpy as np
import tensorflow as tf
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
from tensorboard.plugins.hparams import plugin_data_pb2

from stochlwta_tf.training import board
from stochlwta_tf.training.records import MetricsLog
from stochlwta_tf.training.run_folder import RunFolder
from tests.training.test_records import CONFIG


def test_a_run_has_its_settings_and_the_measures_of_its_last_test(tmp_path):
    folder = RunFolder(tmp_path)
    MetricsLog(folder, CONFIG, 0)
    for value in (90.0, 91.5):  # tested twice
        board.write_test(folder, {"iterations": 40, "measures": {"mse": {"value": value}}})
    events = EventAccumulator(str(folder.tensorboard)).Reload()
    (point,) = events.Tensors("test/mse")
    assert (point.step, float(tf.make_ndarray(point.tensor_proto))) == (40, 91.5)
    content = events.SummaryMetadata("_hparams_/session_start_info").plugin_data.content
    settings = plugin_data_pb2.HParamsPluginData.FromString(content).session_start_info.hparams
    assert settings["learner.name"].string_value == CONFIG.learner.name
    assert np.isclose(settings["learner.inner_lr"].number_value, CONFIG.learner.inner_lr)
    assert settings["training.iterations"].number_value == 40 and json.loads(settings["network.blocks"].string_value) == list(
        CONFIG.network.blocks
    )


def test_a_kept_result_without_tensorboards_files_gets_none(tmp_path):
    board.write_test(RunFolder(tmp_path), {"iterations": 40, "measures": {}})
    assert list(tmp_path.iterdir()) == []
