"""Meta-learners: one file a method."""

from stochlwta_tf.learners.adapted_model import AdaptedModel, Prediction
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.learners.reptile import Reptile
from stochlwta_tf.learners.stochlwta import StochLWTA

LEARNERS = {"reptile": Reptile, "stochlwta": StochLWTA}

__all__ = ["LEARNERS", "AdaptedModel", "MetaLearner", "Prediction", "Reptile", "StochLWTA"]
