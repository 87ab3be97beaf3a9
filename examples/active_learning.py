"""Which image to label next: the most uncertain of a pool, or a random one; a trained model on characters of fonts, which are new to it.

Run it by `python examples/active_learning.py`; `--help` lists its options.
"""

import argparse

import numpy as np

import stochlwta_tf
from stochlwta_tf.tasks import Glyphs


def accuracies(learner, task, queries, choose):
    """The accuracy on a task's queries, with one label of each class and after each of `queries` more."""
    x, y, test_x, test_y = (np.asarray(values) for values in task[:4])
    labelled = list(np.unique(y, return_index=True)[1])
    found = []
    for _ in range(queries + 1):
        model = learner.adapt_to(x[labelled], y[labelled])
        found.append(np.mean(model.predict(test_x).labels == test_y))
        pool = np.setdiff1d(np.arange(len(y)), labelled)
        labelled.append(pool[choose(model.predict(x[pool])).argmax()])
    return found


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=50)
    parser.add_argument("--queries", type=int, default=5, help="labels to ask for")
    arguments = parser.parse_args(argv)

    learner = stochlwta_tf.load("omniglot_5w1s")  # trained on drawn characters
    tasks = Glyphs("test", batch=1, seed=0, way=5, shot=8, queries=10)  # 40 images to label from, 50 to test on
    rng = np.random.default_rng(0)
    strategies = {"most uncertain": lambda p: p.entropy, "random": lambda p: rng.random(len(p.entropy))}
    curves = {
        name: np.array([
            accuracies(learner, type(batch)(*(values[0] for values in batch)), arguments.queries, choose)
            for batch in map(tasks.sample, range(arguments.tasks))
        ])
        for name, choose in strategies.items()
    }  # fmt: skip
    print("labels", *strategies, sep="\t")
    for i in range(arguments.queries + 1):
        print(5 + i, *(f"{100 * curve[:, i].mean():.1f} %" for curve in curves.values()), sep="\t")
    return curves


if __name__ == "__main__":
    main()
