"""Decoding of pictures: modes, transparency, orientation, resizing, and what is said of damaged ones."""

import io

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks.decoding import decode


def encoded(image, kind, **options):
    file = io.BytesIO()
    image.save(file, kind, **options)
    return file.getvalue()


def clear():
    image = Image.new("RGBA", (4, 4), (10, 20, 30, 0))
    image.paste((10, 20, 30, 255), (0, 0, 4, 2))
    return image


def palette():
    image = Image.new("P", (4, 4), 1)
    image.putpalette([0, 0, 0, 10, 20, 30])
    return image


@pytest.mark.parametrize(
    ("data", "colour"),
    [
        (encoded(Image.new("L", (4, 4), 77), "PNG"), (77, 77, 77)),
        (encoded(Image.new("1", (4, 4), 1), "PNG"), (255, 255, 255)),
        (encoded(palette(), "PNG"), (10, 20, 30)),
        (encoded(palette(), "GIF"), (10, 20, 30)),
        (encoded(clear(), "PNG"), (10, 20, 30)),
        (encoded(Image.new("LA", (4, 4), (5, 255)), "PNG"), (5, 5, 5)),
        (encoded(Image.fromarray(np.full((4, 4), 65535 * 3 // 5, "uint16")), "PNG"), (153, 153, 153)),
        (encoded(Image.fromarray(np.full((4, 4), 257 * 9, "int32")), "TIFF"), (9, 9, 9)),
        (encoded(Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "TIFF"), (255, 0, 0)),
        (encoded(Image.new("CMYK", (4, 4), (0, 255, 255, 0)), "JPEG"), (255, 0, 0)),
    ],
    ids=["grey", "bits", "palette", "gif", "transparent", "grey with alpha", "16 bit", "32 bit", "CMYK", "CMYK JPEG"],
)
def test_modes(data, colour):
    pixels = decode(data, 4, 3, "x")
    assert pixels.shape == (4, 4, 3) and pixels.dtype == "uint8"
    np.testing.assert_allclose(pixels[0, 0].astype(int), colour, atol=2)
    assert decode(data, 4, 1, "x").shape == (4, 4, 1)


def test_what_is_transparent_is_white():
    pixels = decode(encoded(clear(), "PNG"), 4, 3, "x")
    assert np.all(pixels[:2] == (10, 20, 30)) and np.all(pixels[2:] == 255)
    image = palette()
    assert np.all(decode(encoded(image, "PNG", transparency=1), 4, 3, "x") == 255)


def test_photographs_are_turned_upright():
    image = Image.new("RGB", (4, 4), "black")
    image.paste("white", (0, 0, 4, 2))
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    assert decode(encoded(image, "PNG", exif=exif), 4, 1, "x")[..., 0].mean(1).tolist() == [0, 0, 255, 255]


def test_resizing_keeps_the_whole_picture():
    image = Image.new("L", (40, 20), 0)
    image.paste(255, (20, 0, 40, 20))
    assert decode(encoded(image, "PNG"), 4, 1, "x")[..., 0].mean(0)[[0, 3]].round().tolist() == [0, 255]


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"<html>", "x.png: cannot be decoded: it is not a picture. Received: 6 bytes."),
        (encoded(Image.effect_noise((60, 60), 50), "JPEG")[:700], "x.png: cannot be decoded: .*truncated.* Received: 700 bytes."),
        (encoded(Image.effect_noise((60, 60), 50), "PNG")[:700], "x.png: cannot be decoded: .* Received: 700 bytes."),
        (encoded(Image.new("F", (4, 4)), "TIFF"), "floating-point"),
    ],
)
def test_what_cannot_be_decoded_is_one_line(data, message):
    with pytest.raises(DataError, match=message) as error:
        decode(data, 4, 3, "x.png")
    assert "\n" not in str(error.value)
