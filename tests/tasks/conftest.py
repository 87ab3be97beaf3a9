"""Small data for the tests of tasks."""

import numpy as np
import pytest
from PIL import Image

from tests.helpers.miniimagenet_copies import CLASSES, NAMES, NUMBERS


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache of decoded images."""
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def folder(tmp_path):
    """Five classes of three one-coloured pictures, of different sizes."""
    for c in range(5):
        (tmp_path / "data" / f"c{c}" / "deeper").mkdir(parents=True)
        for i, name in enumerate(("b.png", "a.png", "deeper/c.png")):
            Image.new("RGB", (5 + c, 4 + i), (c, i, 200)).save(tmp_path / "data" / f"c{c}" / name)
        (tmp_path / "data" / f"c{c}" / "notes.txt").write_text("no picture")
    return tmp_path / "data"


@pytest.fixture(scope="module")
def flat(tmp_path_factory):
    """`images/` and the CSVs; a class has four images."""
    folder, rng = tmp_path_factory.mktemp("flat"), np.random.default_rng(0)
    (folder / "images").mkdir()
    for split, wnids in CLASSES.items():
        rows = [(f"{wnid}{number:08}.jpg", wnid) for wnid in wnids for number in NUMBERS]
        (folder / f"{NAMES[split]}.csv").write_text("filename,label\n" + "".join(f"{file},{wnid}\n" for file, wnid in rows))
        for file, _ in rows:
            small = Image.fromarray(rng.integers(0, 256, (6, 6, 3), "uint8"))
            small.resize((84, 84), Image.Resampling.BICUBIC).save(folder / "images" / file, quality=90)
    return folder
