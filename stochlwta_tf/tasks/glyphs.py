"""Few-shot character images drawn from the fonts that come with matplotlib: data on every machine, without a download."""

import math
import unicodedata
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib
import numpy as np
import PIL
from matplotlib.ft2font import FT2Font
from numpy.typing import ArrayLike
from PIL import Image, ImageDraw, ImageFilter, ImageFont, features

from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.image_tasks import ImageTasks

SCRIPTS = {  # first words of the characters' Unicode names
    "train": ("LATIN", "CYRILLIC", "CANADIAN", "GEORGIAN", "LISU"),
    "validation": ("ARMENIAN", "LAO", "OGHAM"),
    "test": ("GREEK", "COPTIC", "HEBREW", "ARABIC", "TIFINAGH", "NKO", "OLD"),
}
DRAWINGS = 20
_FACES = ("DejaVuSans", "DejaVuSerif", "DejaVuSansMono", "STIXGeneral", "DejaVuSans-Bold", "DejaVuSerif-Bold", "STIXGeneralBol")
_LATIN_FACES = ("cmr10", "cmss10", "cmtt10", "cmb10")  # outside ASCII their character codes are not Unicode
_SIZE, _FONT_PIXELS, _LEAST_PIXELS = 28, 64, 20
_ALIKE, _SAME = 0.92, 0.7  # cosine similarity: above, two characters are one class; below, a font draws another form of a character


class Glyphs(ImageTasks):
    """Few-shot tasks on 28x28 characters of many scripts, white ink (1) on black (0), with 20 drawings of each.

    Drawings differ in typeface, stroke width, slant, size, proportions, angle, place and a smooth warp.  The splits are disjoint in
    scripts (`SCRIPTS`): training on Latin, Cyrillic, Canadian syllabics, Georgian and Lisu; validation on Armenian, Lao and Ogham; testing
    on Greek, Coptic, Hebrew, Arabic, Tifinagh, N'Ko and Old Italic.  Of characters that look alike at equal size (Latin A, Greek Alpha,
    Cyrillic A; c and C) the first in that order stays.  `GREEK` and the others are how class names begin: `"GREEK SMALL LETTER PI"`.

    Deterministic for given versions of matplotlib, Pillow and FreeType; drawn once and cached.  Canadian syllabics are rotated copies of
    each other, so `rotations=True` makes classes that look alike.

    Args:
        split, batch, seed: As in `TaskDistribution`.
        **options: `way`, `shot`, `queries` and the others of `ImageTasks`.

    Example:

    >>> tasks = Glyphs("test", batch=25, seed=0, way=5, shot=1)
    """

    input_shape = (_SIZE, _SIZE, 1)

    def __init__(self, split: str, batch: int, seed: int, **options: Any) -> None:
        versions = {"matplotlib": matplotlib.__version__, "pillow": PIL.__version__, "freetype": features.version("freetype2")}
        bank = cached_bank("glyphs", {**versions, "unicode": unicodedata.unidata_version}, draw_all)
        banks = bank.split({split: [n for n in bank.names if n.split()[0] in scripts] for split, scripts in SCRIPTS.items()})
        super().__init__(banks, split, batch, seed, **options)

    @classmethod
    def picture(cls, options: dict[str, Any], data: bytes, where: str | Path) -> np.ndarray:
        """As the base, with dark ink on a bright ground made bright ink on a dark one."""
        return 255 - super().picture(options, data, where)


def draw_all() -> ClassBank:
    """Draws every character `DRAWINGS` times, as a `ClassBank` in the order of `SCRIPTS`."""
    chosen = characters()
    images = np.stack([draw(c, fonts, number) for c, fonts in chosen.items() for number in range(DRAWINGS)])
    count = np.full(len(chosen), DRAWINGS)
    return ClassBank(images[..., None], np.cumsum(count) - count, count, [unicodedata.name(c) for c in chosen])


def characters() -> dict[str, list[ImageFont.FreeTypeFont]]:
    """The characters that become classes, with the fonts that draw them: `{character: [font, …]}`, the reference font first.

    Letters of `SCRIPTS`, without those that Unicode composes of others (accented letters, ligatures, presentation forms), without specks
    and solid bars, and without those whose reference picture has a cosine similarity above 0.92 with an earlier one's.  Fonts whose
    picture of a character has one below 0.7 with the reference are left out: some draw a historical form.
    """
    fonts: dict[str, ImageFont.FreeTypeFont] = {}
    coverage: dict[str, list[ImageFont.FreeTypeFont]] = {}
    for face in _FACES + _LATIN_FACES:
        path = Path(matplotlib.get_data_path()) / "fonts" / "ttf" / f"{face}.ttf"
        # Basic layout: the other one would join Arabic letters, and is not in every build of Pillow.
        fonts[face] = ImageFont.truetype(str(path), _FONT_PIXELS, layout_engine=ImageFont.Layout.BASIC)
        for code in FT2Font(str(path)).get_charmap():
            if face in _FACES or code < 128:
                coverage.setdefault(chr(code), []).append(fonts[face])
    order = {script: i for i, script in enumerate(s for scripts in SCRIPTS.values() for s in scripts)}
    letters = {}
    for c in sorted(coverage):
        script = unicodedata.name(c, "-").split()[0]
        if script in order and unicodedata.category(c) in ("Lu", "Ll", "Lo", "Lt") and not unicodedata.decomposition(c):
            letters[c] = order[script]
    kept, pictures = {}, np.zeros((0, _SIZE * _SIZE))
    for c in sorted(letters, key=lambda c: (letters[c], c)):
        ink = _ink(c, coverage[c][0])
        if ink is None or max(ink.size) < _LEAST_PIXELS or np.asarray(ink).mean() > 0.85 * 255:
            continue
        picture = _picture(c, coverage[c][0])
        if not np.any(pictures @ picture > _ALIKE):
            kept[c] = [font for font in coverage[c] if _picture(c, font) @ picture > _SAME]
            pictures = np.vstack([pictures, picture])
    return kept


def draw(c: str, fonts: Sequence[ImageFont.FreeTypeFont], number: int) -> np.ndarray:
    """Drawing `number` of a character, uint8 `[28, 28]`; a pure function of its arguments."""
    rng = np.random.RandomState([ord(c), number])
    ink = _ink(c, fonts[rng.randint(len(fonts))], rng.uniform(0.0, 2.2))
    angle, slant, aspect = rng.normal(0.0, math.radians(5.0)), rng.uniform(-0.15, 0.35), math.exp(rng.normal(0.0, 0.1))
    turn = np.array([[math.cos(angle), -math.sin(angle)], [math.sin(angle), math.cos(angle)]])
    linear = turn @ np.array([[1.0, -slant], [0.0, 1.0]]) @ np.diag([aspect, 1.0 / aspect])
    return np.asarray(_place(ink, linear, rng.uniform(17.0, 23.0), rng.uniform(-2.0, 2.0, 2), rng.normal(0.0, 0.7, (4, 4, 2))))


def _ink(c: str, font: ImageFont.FreeTypeFont, stroke: float = 0.0) -> Any:
    """The character cut to its ink, as a greyscale image, or None if it has none; `stroke` pixels are added on every side."""
    left, top, right, bottom = font.getbbox(c, stroke_width=stroke)
    image = Image.new("L", (max(int(right - left) + 8, 1), max(int(bottom - top) + 8, 1)))
    ImageDraw.Draw(image).text((4 - left, 4 - top), c, fill=255, font=font, stroke_width=stroke)
    box = image.getbbox()
    return image.crop(box) if box else None


def _picture(c: str, font: ImageFont.FreeTypeFont) -> np.ndarray:
    """A character at standard size, slightly blurred, as a vector of length 1."""
    picture = _place(_ink(c, font), np.eye(2), 22.0).filter(ImageFilter.GaussianBlur(1.0))
    return np.asarray(picture, "float64").ravel() / np.linalg.norm(np.asarray(picture))


def _place(
    ink: Image.Image,
    linear: np.ndarray,
    extent: float,
    shift: ArrayLike = (0.0, 0.0),
    warp: np.ndarray | None = None,
) -> Image.Image:
    """Ink on a 28x28 picture: mapped by a 2x2 matrix, scaled so that its longer side is `extent` pixels, centred, shifted and warped.

    The warp moves the corners of a 3x3 grid of cells, in pixels.  The work is done at three times the size.
    """
    fine, half = 3 * _SIZE, np.array(ink.size) / 2
    reach = np.abs(linear) @ half
    inverse = np.linalg.inv(linear * (3 * extent / (2 * reach.max())))
    margin = 8
    canvas = Image.new("L", (ink.width + 2 * margin, ink.height + 2 * margin))
    canvas.paste(ink, (margin, margin))
    grid = np.linspace(0, fine, 4)
    corners = np.stack(np.meshgrid(grid, grid, indexing="xy"), axis=-1) - fine / 2 - 3 * np.asarray(shift)
    if warp is not None:
        corners = corners + 3 * warp
    corners = corners @ inverse.T + half + margin
    cells = []
    for row in range(3):
        for column in range(3):
            box = (int(grid[column]), int(grid[row]), int(grid[column + 1]), int(grid[row + 1]))
            quad = [corners[row, column], corners[row + 1, column], corners[row + 1, column + 1], corners[row, column + 1]]
            cells.append((box, tuple(np.concatenate(quad))))
    return canvas.transform((fine, fine), Image.Transform.MESH, cells, Image.Resampling.BILINEAR).reduce(3)
