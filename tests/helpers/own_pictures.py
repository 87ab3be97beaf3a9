"""A folder of small pictures, and a small run on it."""

import numpy as np
from PIL import Image

TINY = {
    "name": "own",
    "task": {"name": "image_folder", "size": 5, "way": 2, "queries": 2, "class_split": [0.5, 0.2, 0.3]},
    "network": {"name": "mlp", "units": [3]},
    "learner": {"name": "fomaml", "inner_steps": 1},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "training": {"iterations": 2, "meta_batch_size": 2, "log_every": 1},
    "evaluation": {"tasks": 4, "batch": 2},
}


def picture(folder, name, seed, number=0):
    pixels = np.random.default_rng([seed, number]).integers(0, 256, (5, 5, 3), "uint8")
    (folder / name).mkdir(parents=True, exist_ok=True)
    Image.fromarray(pixels).save(folder / name / f"{number}.png")
