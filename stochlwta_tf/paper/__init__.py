"""The numbers that the paper prints."""

from stochlwta_tf.paper.numbers import METHODS, Reported, literature, number, reported, results

__all__ = ["METHODS", "Reported", "literature", "number", "reported", "results"]
