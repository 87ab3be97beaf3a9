"""A small mini-ImageNet in each of the layouts that are distributed."""

import pickle
import shutil
import zipfile

import numpy as np
from PIL import Image

from stochlwta_tf.tasks.class_lists import class_list

CLASSES = {split: list(wnids)[:2] for split, wnids in class_list("miniimagenet").items()}
NUMBERS = (11, 2, 5, 40)  # not in order, as no CSV need be
NAMES = {"train": "train", "validation": "val", "test": "test"}


def files(flat):
    """Triples (split, class, file) in any order."""
    for split in NAMES:
        for line in (flat / f"{NAMES[split]}.csv").read_text().splitlines()[1:]:
            file, wnid = line.split(",")
            yield split, wnid, flat / "images" / file


def as_zip(flat, folder, csv_inside):
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for *_, file in files(flat):
            archive.write(file, f"images/{file.name}")
        for name in NAMES.values():
            if csv_inside:
                archive.write(flat / f"{name}.csv", f"{name}.csv")
            else:
                shutil.copy(flat / f"{name}.csv", folder)


def as_folders(flat, folder, splits):
    for split, wnid, file in files(flat):
        parent = folder / NAMES[split] / wnid if splits else folder / wnid
        parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, parent)


def as_pickles(flat, folder, protocol=2):
    for split, name in NAMES.items():
        images, classes = [], {}
        for _, wnid, file in sorted(f for f in files(flat) if f[0] == split):
            classes.setdefault(wnid, []).append(len(images))
            images.append(np.asarray(Image.open(file).convert("RGB")))
        content = {"image_data": np.stack(images), "class_dict": classes}
        (folder / f"mini-imagenet-cache-{name}.pkl").write_bytes(pickle.dumps(content, protocol))
