"""From a trained learner to measures with intervals."""

from stochlwta_tf.evaluation.evaluate import evaluate
from stochlwta_tf.evaluation.measured import Measured, measures_of
from stochlwta_tf.evaluation.predictions import Predictions, predict

__all__ = ["Measured", "Predictions", "evaluate", "measures_of", "predict"]
