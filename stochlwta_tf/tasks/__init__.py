"""Task distributions: what the learners are trained and tested on."""

from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.glyphs import Glyphs
from stochlwta_tf.tasks.images import ImageTasks
from stochlwta_tf.tasks.omniglot import Omniglot
from stochlwta_tf.tasks.sinusoid import Sinusoid
from stochlwta_tf.tasks.task import SPLITS, Task, TaskDistribution

TASKS = {"sinusoid": Sinusoid, "omniglot": Omniglot, "glyphs": Glyphs}

__all__ = ["SPLITS", "TASKS", "ClassBank", "Glyphs", "ImageTasks", "Omniglot", "Sinusoid", "Task", "TaskDistribution"]
