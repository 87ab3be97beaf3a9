"""Meta-learners: one file a method."""

from stochlwta_tf.learners.adapted_model import AdaptedModel, Prediction
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.learners.maml import FOMAML, MAML
from stochlwta_tf.learners.reptile import Reptile
from stochlwta_tf.learners.stochlwta import StochLWTA

LEARNERS = {"stochlwta": StochLWTA, "reptile": Reptile, "maml": MAML, "fomaml": FOMAML}

__all__ = ["LEARNERS", "FOMAML", "MAML", "AdaptedModel", "MetaLearner", "Prediction", "Reptile", "StochLWTA"]
