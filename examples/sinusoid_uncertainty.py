"""How sure PLATIPUS is of a curve: it sees ten points on the left half, and predicts everywhere.

Run it by `python examples/sinusoid_uncertainty.py --out curve.png`.
"""

import argparse

import keras
import matplotlib
import numpy as np

matplotlib.use("Agg")
from matplotlib import pyplot as plt

from stochlwta_tf import networks
from stochlwta_tf.learners import PLATIPUS
from stochlwta_tf.tasks import Sinusoid


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--iterations", type=int, default=3000, help="of the meta-training")
    parser.add_argument("--out", default="curve.png", help="the figure")
    arguments = parser.parse_args(argv)

    keras.utils.set_random_seed(0)
    network = networks.mlp((1,), 1, units=(40, 40), activation="relu")
    learner = PLATIPUS(network, likelihood="gaussian", noise_std=0.5**0.5, inner_lr=0.01, inner_steps=1, test_inner_steps=5)
    learner.compile(keras.optimizers.Adam(0.001))
    learner.fit(Sinusoid("train", batch=10, seed=0).dataset(), steps_per_epoch=arguments.iterations, verbose=2)

    x, grid = np.linspace(-5, 0, 10)[:, None], np.linspace(-5, 5, 200)[:, None]
    prediction = learner.with_options(draws=30).adapt_to(x, 2 * np.sin(x + 1)).predict(grid)
    spread = prediction.draws.std(0)[:, 0]  # of the curve; prediction.std has the noise of a new point, too
    left, right = spread[grid[:, 0] < 0].mean(), spread[grid[:, 0] > 0].mean()
    print(f"spread over draws: {left:.3f} where there are points, {right:.3f} where there are none")

    plt.plot(grid, prediction.draws[:, :, 0].T, color="0.8", linewidth=0.8)
    plt.plot(grid, prediction.mean, label="mean of 30 draws")
    plt.plot(grid, 2 * np.sin(grid + 1), "k--", label="truth")
    plt.plot(x, 2 * np.sin(x + 1), "ko", label="support points")
    plt.legend()
    plt.savefig(arguments.out, dpi=150)
    return left, right


if __name__ == "__main__":
    main()
