"""A trained learner from a run's folder or a file."""

from pathlib import Path

from stochlwta_tf.learners import MetaLearner
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import model_file


def load(source: str | Path) -> MetaLearner:
    """The trained learner of a run.

    `keras.saving.load_model` does the same with a file; here what is wrong is said in one line.

    Args:
        source: The folder of a run, or a `.keras` file.

    Raises:
        UserError: There is no such folder or file, the run is not finished, or the file is no learner.

    Example:

    >>> load("runs/omniglot_5w1s_reptile-seed0").adapt_to(support_x, support_y).predict(query_x).labels
    """
    return build.saved_learner(model_file(source))
