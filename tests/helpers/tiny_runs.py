"""A small run of a network with competing units."""

from stochlwta_tf.config import configuration
from stochlwta_tf.training import build

VALUES = {
    "name": "tiny",
    "task": {"name": "glyphs", "way": 3, "queries": 4, "train_queries": 2},
    "network": {"name": "dense_lwta", "blocks": [3, 2], "weights": "point", "winners_kl_weight": 0, "weights_kl_weight": 0},
    "learner": {"name": "stochlwta", "inner_steps": 1, "draws": 5},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "training": {"iterations": 100, "meta_batch_size": 2},
    "evaluation": {"tasks": 4, "batch": 2},
}


def learner_of(**sections):
    config = configuration.from_dict({**VALUES, **sections})
    tasks = build.tasks(config, "test")
    return build.learner(config, tasks), tasks.sample(0)
