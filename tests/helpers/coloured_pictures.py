"""Pictures of one colour each, and an untrained learner whose inner steps tell them apart."""

import keras
import numpy as np
from PIL import Image

from stochlwta_tf import networks
from stochlwta_tf.learners import FOMAML

COLOURS = {"red": (220, 30, 30), "green": (30, 200, 40), "blue": (40, 40, 210), "yellow": (230, 220, 20), "grey": (120, 120, 120)}


def picture(colour, number, size=(12, 9)):
    """A picture of a class's colour with a little noise, a function of the arguments."""
    noise = np.random.default_rng([number, *colour.encode()]).integers(-20, 21, (size[1], size[0], 3))
    return Image.fromarray(np.clip(np.array(COLOURS[colour]) + noise, 0, 255).astype("uint8"))


def save(root, count, colours=COLOURS, first=0):
    """A folder of pictures for each colour; the files of all, in order."""
    files = []
    for colour in colours:
        (root / colour).mkdir(parents=True, exist_ok=True)
        for number in range(first, first + count):
            files.append(root / colour / f"{number}.png")
            picture(colour, number).save(files[-1])
    return sorted(files)


def colour_learner(way=5, **options):
    """FOMAML on small colour pictures, 8x8."""
    keras.utils.set_random_seed(0)
    return FOMAML(networks.mlp((8, 8, 3), way, units=(16,)), inner_lr=0.1, inner_steps=30, **options)
