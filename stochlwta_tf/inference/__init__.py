"""Trained models for use: loading them, and pictures as they were trained on."""

from stochlwta_tf.inference.load import load
from stochlwta_tf.inference.models import card, models
from stochlwta_tf.inference.pictures import read_each, read_pictures
from stochlwta_tf.tasks.picture_files import pictures_in

__all__ = ["card", "load", "models", "pictures_in", "read_each", "read_pictures"]
