"""Draws a folder of pictures to try things on: up to 60 classes, a shape with a texture each, of mixed sizes, colours, modes and formats.

python examples/draw_pictures.py pictures --classes 60 --images 30
"""

import argparse
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw

SHAPES = {  # corners, and how far the corners between them reach
    **{"triangle": (3, 0.5), "square": (4, 0.71), "pentagon": (5, 0.81), "disc": (24, 1.0), "star": (5, 0.4), "flower": (8, 0.5)},
    **{"cross": (4, 0.25), "burst": (14, 0.6), "propeller": (3, 0.2), "cog": (10, 0.8), "needle": (2, 0.15), "lens": (2, 0.5)},
}
TEXTURES = ("plain", "stripes", "dots", "checks", "outline")


def draw(shape, texture, rng):
    """One picture: a turned shape of random size, place and colours, with noise on all."""
    width, height = (int(side) for side in rng.integers(70, 220, 2))
    (corners, between), angle = SHAPES[shape], rng.uniform(0, 2 * np.pi)
    turns = angle + np.arange(2 * corners) * np.pi / corners
    reach = min(width, height) * rng.uniform(0.3, 0.46) * np.where(np.arange(2 * corners) % 2, between, 1.0)
    centre = np.array([width, height]) * rng.uniform(0.44, 0.56, 2)
    points = [tuple(centre + r * np.array([np.cos(t), np.sin(t)])) for r, t in zip(reach, turns, strict=True)]
    ground, ink, light = (tuple(map(int, rng.integers(*span, 3))) for span in ((120, 256), (0, 130), (140, 256)))
    picture, fill, mask = Image.new("RGB", (width, height), ground), Image.new("RGB", (width, height), ink), Image.new("L", (width, height))
    step, pen = max(6, min(width, height) // 9), ImageDraw.Draw(fill)
    for x in range(0, width, step):
        for y in range(0, height, step):
            if texture == "stripes" or (texture == "checks" and (x + y) // step % 2):
                pen.rectangle([x, y, x + (step // 2 if texture == "stripes" else step), y + step], fill=light)
            elif texture == "dots":
                pen.ellipse([x, y, x + step // 2, y + step // 2], fill=light)
    if texture == "outline":
        ImageDraw.Draw(picture).line([*points, points[0]], fill=ink, width=max(3, step // 3))
    else:
        ImageDraw.Draw(mask).polygon(points, fill=255)
        picture.paste(fill, (0, 0), mask)
    pixels = np.asarray(picture, "float64") + rng.normal(0, 8, (height, width, 3))
    return Image.fromarray(np.clip(pixels, 0, 255).astype("uint8")).convert(rng.choice(["RGB", "RGB", "L"]))


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--classes", type=int, default=60)
    parser.add_argument("--images", type=int, default=30)
    arguments, rng = parser.parse_args(argv), np.random.default_rng(0)
    kinds = [(shape, texture) for texture in TEXTURES for shape in SHAPES]
    for shape, texture in kinds[: arguments.classes]:
        place = arguments.folder / f"{texture} {shape}"
        place.mkdir(parents=True, exist_ok=True)
        for number in range(arguments.images):
            draw(shape, texture, rng).save(place / f"{number}.{rng.choice(['png', 'jpg'])}")


if __name__ == "__main__":
    main()
