"""Trained models for use: loading them, and pictures as they were trained on."""

from stochlwta_tf.inference.load import load
from stochlwta_tf.inference.models import card, models
from stochlwta_tf.inference.pictures import read_pictures

__all__ = ["card", "load", "models", "read_pictures"]
