"""From a trained learner to measures with intervals."""

from stochlwta_tf.evaluation.evaluate import evaluate
from stochlwta_tf.evaluation.measured import Measured, Tested, measures_of, tested
from stochlwta_tf.evaluation.predictions import Predictions, in_batches, predict, predict_alike

__all__ = ["Measured", "Predictions", "Tested", "evaluate", "in_batches", "measures_of", "predict", "predict_alike", "tested"]
