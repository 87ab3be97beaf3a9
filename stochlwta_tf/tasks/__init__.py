"""Task distributions, on which learners are trained and tested."""

from collections.abc import Mapping
from typing import Any

from stochlwta_tf.registry import Registry
from stochlwta_tf.tasks.cifar100 import Cifar100
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.glyphs import Glyphs
from stochlwta_tf.tasks.image_folder import ImageFolder
from stochlwta_tf.tasks.image_tasks import ImageTasks
from stochlwta_tf.tasks.miniimagenet import MiniImageNet
from stochlwta_tf.tasks.omniglot import Omniglot
from stochlwta_tf.tasks.sinusoid import Sinusoid
from stochlwta_tf.tasks.task import SPLITS, Task, TaskDistribution

TASKS = Registry(
    "task",
    {
        "sinusoid": Sinusoid,
        "omniglot": Omniglot,
        "glyphs": Glyphs,
        "cifar100": Cifar100,
        "miniimagenet": MiniImageNet,
        "image_folder": ImageFolder,
    },
)

__all__ = [
    "SPLITS",
    "TASKS",
    "Cifar100",
    "ClassBank",
    "Glyphs",
    "ImageFolder",
    "ImageTasks",
    "MiniImageNet",
    "Omniglot",
    "Sinusoid",
    "Task",
    "TaskDistribution",
]


def images_of(task: Mapping[str, Any]) -> type[ImageTasks] | None:
    """The class of image tasks that a record of a task names, as `learner.trained_on["task"]` does; None where it names no image tasks.

    Example:

    >>> images_of({"name": "omniglot", "way": 5})
    <class 'stochlwta_tf.tasks.omniglot.Omniglot'>
    >>> images_of({"name": "sinusoid"}), images_of({})
    (None, None)
    """
    kind = TASKS.get(task.get("name", ""))
    return kind if kind is not None and issubclass(kind, ImageTasks) else None
