"""`ImageFolder` tasks from a small folder of pictures."""

from stochlwta_tf.tasks import ImageFolder


def make(folder, split="train", **options):
    return ImageFolder(split, 2, 0, data_dir=str(folder), **{"way": 1, "queries": 2, "size": 6, **options})
