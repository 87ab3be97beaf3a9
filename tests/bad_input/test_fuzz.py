"""Files of every kind with random damage: a result or one line, never a traceback.

Five minutes: `pytest -m slow tests/bad_input/test_fuzz.py`; another length with `STOCHLWTA_FUZZ_SECONDS=10`, other damage with
`STOCHLWTA_FUZZ_SEED=1`.
"""

import io
import os
import random
import time

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.config import configuration, lookup
from stochlwta_tf.errors import UserError
from stochlwta_tf.tasks import image_folder, miniimagenet_layouts
from stochlwta_tf.tasks.class_split import from_file
from stochlwta_tf.tasks.decoding import decode

pytestmark = pytest.mark.slow
SECONDS = float(os.environ.get("STOCHLWTA_FUZZ_SECONDS", "300")) / 3
SEED = os.environ.get("STOCHLWTA_FUZZ_SEED", "0")
PIECES = [
    b"",
    b"\0",
    b"\xff",
    b"\n",
    b"'",
    b'"',
    b": ",
    b"- ",
    b"[",
    b"{",
    b"&a ",
    b"*a",
    b"!!int ",
    b"null",
    b".nan",
    b"1e999",
    b",",
    b"~",
]


def damaged(data, values):
    """Some bytes with one to four kinds of damage."""
    for _ in range(values.randint(1, 4)):
        start = values.randrange(len(data) + 1)
        end = min(len(data), start + values.choice([0, 1, 1, 4, 40]))
        kind = values.randrange(5)
        if kind == 0:
            data = data[:start]
        elif kind == 1:
            data = data[:start] + values.choice(PIECES) + data[end:]
        elif kind == 2:
            data = data[:start] + values.randbytes(end - start) + data[end:]
        elif kind == 3:
            data = data[:end] + data[start:]
        elif start < len(data):
            data = data[:start] + bytes([data[start] ^ 1 << values.randrange(8)]) + data[start + 1 :]
    return data


def fuzz(whole, function):
    """Damages files for a while; returns how many were tried and how many refused."""
    values, tried, refused, end = random.Random(SEED), 0, 0, time.monotonic() + SECONDS
    while time.monotonic() < end or tried < 20:
        data, tried = damaged(values.choice(whole), values), tried + 1
        try:
            function(data)
        except UserError as error:
            refused += 1
            assert "\n" not in str(error), (tried, data[:2000])
        except BaseException:
            print(f"seed {SEED}, file {tried}: {data[:2000]!r}")
            raise
    print(f"{tried} files, {refused} refused")
    assert refused


def test_yaml(tmp_path):
    whole = [path.read_bytes() for path in sorted(lookup.PACKAGED.rglob("*.yaml")) if b"extends" not in path.read_bytes()]
    whole += [configuration.load(path).to_yaml().encode() for path in sorted(lookup.PACKAGED.glob("*.yaml"))[:10]]

    def load(data):
        (tmp_path / "a.yaml").write_bytes(data)
        configuration.load(tmp_path / "a.yaml")

    fuzz(whole, load)


@pytest.mark.filterwarnings("ignore")  # Pillow warns of what it then decodes or refuses
def test_images():
    pixels, whole = np.random.default_rng(0).integers(0, 256, (20, 24, 3), "uint8"), []
    for form in ("PNG", "JPEG", "BMP", "GIF", "TIFF", "WEBP", "PPM", "JPEG2000"):
        for picture in (Image.fromarray(pixels), Image.fromarray(pixels).convert("L")):
            file = io.BytesIO()
            picture.save(file, form)
            whole.append(file.getvalue())
    fuzz(whole, lambda data: decode(data, 8, 3, "a picture"))


def test_csv(tmp_path):
    for name in ("a.png", "b.png"):
        Image.new("L", (4, 4)).save(tmp_path / name)
    whole = [b"filename,label\na.png,cat\nb.png,dog\n", b'filename,label\r\n"a.png","a, b"\r\n', b"split,class\ntrain,cat\ntest,dog\n"]
    there = {"a.png": None, "b.png": None}

    def load(data):
        (tmp_path / "a.csv").write_bytes(data)
        last = None
        for read in (
            lambda: image_folder.listed(tmp_path / "a.csv"),
            lambda: from_file(tmp_path / "a.csv"),
            lambda: miniimagenet_layouts._rows(data, "a.csv", there, tmp_path),
        ):
            try:
                read()
            except UserError as error:
                last = error
                assert "\n" not in str(error), data
        if last:
            raise last

    fuzz(whole, load)
