"""Protocols: which classes a test uses, how it draws its tasks, and how it scores them; the three are never mixed in one column."""

from collections.abc import Iterable
from typing import Any, Literal, NamedTuple

from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.tasks.class_bank import ClassBank

ProtocolName = Literal["standard", "paper", "original_code"]


class Rules(NamedTuple):
    """How a protocol draws tasks and scores predictions; each data set defines the classes that it uses.

    Attributes:
        class_replacement: Classes are drawn with replacement: a task may hold one under two labels.
        image_replacement: Images of a class are drawn with replacement: a query may be one of the support images.
        queries: Query images of each class in a test task; None to follow the configuration.
        across_queries: A class is scored by the query that suits it best (argmax over axis 0 of `[queries, classes]`), instead of a query
            by the class that suits it best.
        running_mean: The number reported is the mean over all evaluations since the first iteration of training.
        file_number_labels: On mini-ImageNet, a "class" is the images of one number within their class folders.
    """

    class_replacement: bool = False
    image_replacement: bool = False
    queries: int | None = None
    across_queries: bool = False
    running_mean: bool = False
    file_number_labels: bool = False


#: `standard`: the field's disjoint classes.  `paper`: the splits of the paper's appendix A, which share classes on some data sets; drawn
#: and scored as `standard`.  `original_code`: what the paper's published code does; its numbers are inflated, see `evaluation/audit.py`.
PROTOCOLS = {"standard": Rules(), "paper": Rules(), "original_code": Rules(True, True, 1, True, True, True)}


def check_disjoint(training: Iterable[str], test: Iterable[str]) -> None:
    """Refuses a test on classes that were trained on.

    Args:
        training, test: Names of classes.

    Raises:
        ConfigurationError: A class is in both; the message names it.

    Example:

    >>> check_disjoint(["cat", "dog"], ["owl"])
    """
    seen = shared(training, test)
    if seen:
        raise ConfigurationError(
            f"protocol standard tests on classes that were not trained on, but {len(seen)} are in both. Received: class {seen[0]!r}."
        )


def shared(training: Iterable[str], test: Iterable[str]) -> Any:
    """Those of the second list of names that are in the first too, where a rotated class counts as its original."""
    training = set(map(ClassBank.unrotated, training))
    return [name for name in test if ClassBank.unrotated(name) in training]
