"""A trained learner by name, from a run's folder or from a file."""

import os
from pathlib import Path

from stochlwta_tf.errors import UserError
from stochlwta_tf.inference.models import models
from stochlwta_tf.learners import MetaLearner
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import model_file


def load(source: str | Path) -> MetaLearner:
    """A trained learner.

    Of a file `keras.saving.load_model` gives the same; here what is wrong is said in one line.

    Args:
        source: The name of a model of the package (`models()`), the folder of a run, or a `.keras` file.

    Raises:
        UserError: There is no such model, folder or file, the run is not finished, or the file is no learner.

    Example:

    >>> load("omniglot_5w1s").adapt_to(support_x, support_y).predict(query_x).labels
    """
    if os.path.lexists(Path(source).expanduser()):
        return build.saved_learner(model_file(source))
    known = models()
    if str(source) in known:
        return build.saved_learner(known[str(source)])
    raise UserError(
        f"a trained model is the folder of a run, a .keras file or one of {', '.join(known)}. Received: {source}, which does not exist."
    )
