"""A trained learner by name, from a run's folder or from a file."""

import os
from pathlib import Path

from stochlwta_tf.config import plugins, yaml_file
from stochlwta_tf.errors import UserError
from stochlwta_tf.inference.models import models
from stochlwta_tf.learners import MetaLearner
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import RunFolder, model_file


def load(source: str | Path) -> MetaLearner:
    """A trained learner.

    Of a file `keras.saving.load_model` gives the same; here what is wrong is said in one line.  Of a run's folder the modules that its
    configuration names under `import` are imported first: a learner of your own is found as in training.

    Args:
        source: The name of a model of the package (`models()`), the folder of a run, or a `.keras` file.

    Raises:
        UserError: There is no such model, folder or file, the run is not finished, the file is no learner, or its class is not imported.

    Example:

    >>> load("omniglot_5w1s").adapt_to(support_x, support_y).predict(query_x).labels
    """
    if os.path.lexists(path := Path(source).expanduser()):
        file = model_file(source)
        if path.is_dir() and (config := RunFolder(path).config).exists():
            plugins.load(yaml_file.read(config).get("import", ()), config)
        return build.saved_learner(file)
    known = models()
    if str(source) in known:
        return build.saved_learner(known[str(source)])
    raise UserError(
        f"a trained model is the folder of a run, a .keras file or one of {', '.join(known)}. Received: {source}, which does not exist."
    )
