"""Few-shot classification of arrays in memory: handwritten digits, 0 to 5 to train on, 6 to 9 to test.

Run it by `python examples/arrays_in_memory.py`; scikit-learn brings the data, `pip install -e '.[sklearn]'`.
"""

import argparse

import keras
from sklearn.datasets import load_digits  # 1,797 images of 8x8 pixels, which come with scikit-learn

from stochlwta_tf import networks
from stochlwta_tf.evaluation import evaluate
from stochlwta_tf.learners import FOMAML
from stochlwta_tf.tasks import ClassBank, ImageTasks


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--iterations", type=int, default=400, help="of the meta-training")
    parser.add_argument("--tasks", type=int, default=200, help="of the test")
    arguments = parser.parse_args(argv)

    digits = load_digits()
    images = (digits.images[..., None] * 255 / 16).astype("uint8")  # [images, height, width, channels]
    bank = ClassBank.from_labels(images, digits.target, names=list("0123456789"))
    banks = bank.split({"train": list("012345"), "test": list("6789")})
    train = ImageTasks(banks, "train", batch=4, seed=0, way=4, shot=1, train_queries=5)
    test = ImageTasks(banks, "test", batch=20, seed=0, way=4, shot=1)

    keras.utils.set_random_seed(0)
    learner = FOMAML(networks.conv4((8, 8, 1), 4, filters=16), inner_lr=0.1, inner_steps=3)
    learner.compile(keras.optimizers.AdamW(0.001))
    learner.fit(train.dataset(), steps_per_epoch=arguments.iterations, verbose=2)
    measures = evaluate(learner, test, n=arguments.tasks)
    for name, measured in measures.items():
        print(f"{name}: {measured.value:.2f} ± {measured.ci95:.2f} {measured.unit}")
    return measures


if __name__ == "__main__":
    main()
