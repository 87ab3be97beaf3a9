"""A trained learner from a run's folder or a file."""

from pathlib import Path

from stochlwta_tf.errors import UserError
from stochlwta_tf.learners import MetaLearner
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder


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
    path = Path(source).expanduser()
    if path.is_dir():
        folder = RunFolder(path)
        folder.check_trained()
        path = folder.model
    elif not path.is_file():
        raise UserError(f"a trained model is the folder of a run or a .keras file. Received: {source}, which does not exist.")
    return build.saved_learner(path)
