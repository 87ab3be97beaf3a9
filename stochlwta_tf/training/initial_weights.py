"""Starting from the weights of a trained learner: `training.initial_weights`."""

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.tasks.protocols import shared
from stochlwta_tf.training import build
from stochlwta_tf.training.run_folder import model_file


def load(learner, config, splits):
    """Gives a learner the weights of another, before its first meta-iteration; the optimizer starts anew.

    All weights are taken, learned inner rates too, where both learners are of one class and have the same ones; else those of the network.

    Args:
        learner: The new learner.
        config: A `Configuration` with `training.initial_weights`.
        splits: The task distribution of each split.

    Returns:
        The names of the classes that the weights were trained on.

    Raises:
        UserError: There is no such run or file, or it cannot be loaded.
        ConfigurationError: The weights do not fit, or protocol `standard` would validate or test on a class that they were trained on.
    """
    path = config.training.initial_weights
    source = build.saved_learner(model_file(path))
    classes = tuple(source.trained_on.get("classes", ()))
    if config.protocol == "standard":
        for split in ("validation", "test"):
            if seen := shared(classes, build.class_names(splits[split])):
                raise ConfigurationError(
                    f"training.initial_weights must not be trained on a class of the {split}, but {len(seen)} are in both. "
                    f"Received: {path}, trained on class {seen[0]!r}."
                )
    if type(source) is not type(learner) or _shapes(source) != _shapes(learner):
        source, learner = source.network, learner.network
    if _shapes(source) != _shapes(learner):
        raise ConfigurationError(
            f"training.initial_weights must be of the shapes {_shapes(learner)}. Received: {_shapes(source)} of {path}."
        )
    learner.set_weights(source.get_weights())
    return classes


def _shapes(model):
    return [tuple(weights.shape) for weights in model.weights]
