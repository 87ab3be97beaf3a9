"""Whether probabilities mean what they say: accuracy by confidence of a trained model on characters of fonts, which are new to it.

Run it by `python examples/calibration.py`; `--help` lists its options.
"""

import argparse

import stochlwta_tf
from stochlwta_tf.evaluation import measures_of, predict
from stochlwta_tf.evaluation.reliability import bins
from stochlwta_tf.tasks import Glyphs


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--tasks", type=int, default=200, help="of the test")
    parser.add_argument("--statistics", choices=("support", "transductive"), default="support", help="of batch normalisation")
    arguments = parser.parse_args(argv)

    learner = stochlwta_tf.load("omniglot_5w1s").with_options(batch_statistics=arguments.statistics)  # trained on drawn characters
    tasks = Glyphs("test", batch=20, seed=0, way=5, shot=1)
    predictions = predict(learner, tasks, arguments.tasks)
    for name, measured in measures_of(predictions, tasks.rules).items():
        print(f"{name}: {measured.value:.3g} ± {measured.ci95:.2g} {measured.unit}")

    found = bins(predictions.mean, predictions.query_y)
    print("\nconfidence  accuracy  queries")
    for confidence, accuracy, count in zip(found["confidence"], found["accuracy"], found["count"]):
        if count:
            print(f"{confidence:10.2f}  {accuracy:8.2f}  {count:7}")
    return found


if __name__ == "__main__":
    main()
