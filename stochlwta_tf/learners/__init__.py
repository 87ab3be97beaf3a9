"""Meta-learners: one file per method."""

from stochlwta_tf.learners.abml import ABML
from stochlwta_tf.learners.adapted_model import AdaptedModel
from stochlwta_tf.learners.bmaml import BMAML
from stochlwta_tf.learners.learner import MetaLearner
from stochlwta_tf.learners.maml import FOMAML, MAML
from stochlwta_tf.learners.platipus import PLATIPUS
from stochlwta_tf.learners.prediction import Prediction
from stochlwta_tf.learners.reptile import Reptile
from stochlwta_tf.learners.restarted_schedule import RestartedSchedule
from stochlwta_tf.learners.stochlwta import StochLWTA
from stochlwta_tf.registry import Registry

LEARNERS = Registry(
    "learner",
    {
        "stochlwta": StochLWTA,
        "reptile": Reptile,
        "maml": MAML,
        "fomaml": FOMAML,
        "abml": ABML,
        "bmaml": BMAML,
        "platipus": PLATIPUS,
    },
)

__all__ = [
    "ABML",
    "BMAML",
    "FOMAML",
    "LEARNERS",
    "MAML",
    "PLATIPUS",
    "AdaptedModel",
    "MetaLearner",
    "Prediction",
    "Reptile",
    "RestartedSchedule",
    "StochLWTA",
]
