"""Picture files to uint8 pixels of one size, whatever their mode; many at once, with a progress bar."""

import functools
import io
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.pool import ThreadPool
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from rich.console import Console
from rich.progress import track

from stochlwta_tf.errors import DataError

# Of what Pillow opens: these it only recognises, or gives to another program (PostScript runs).
_NOT_READ = frozenset({"BUFR", "EPS", "GRIB", "HDF5", "MPEG", "WMF"})
# Folders of thumbnails and copies that systems and editors leave among pictures; hidden files are skipped, too.
_LEFTOVERS = frozenset({"__macosx", "@eadir", "@recycle", "#recycle", "#snapshot", "$recycle.bin", "lost+found"})
_THREADS = 4  # Pillow decodes outside Python's lock


@functools.cache
def formats() -> tuple[str, ...]:
    """Pillow's names of the formats that are read."""
    Image.init()
    return tuple(sorted(set(Image.OPEN) - _NOT_READ))


@functools.cache
def extensions() -> frozenset[str]:
    """The endings of the files that are taken for pictures: all that this version of Pillow reads.

    Example:

    >>> ".jfif" in extensions(), ".txt" in extensions()
    (True, False)
    """
    return frozenset(ending for ending, kind in Image.registered_extensions().items() if kind in formats())


def is_leftover(name: str) -> bool:
    """Whether a file or folder of this name is hidden, or one that a system or an editor creates for its own use.

    Example:

    >>> is_leftover(".ipynb_checkpoints"), is_leftover("@eaDir"), is_leftover("cats")
    (True, True, False)
    """
    return name.startswith(".") or name.lower() in _LEFTOVERS


def is_picture(path: Path) -> bool:
    """Whether a `Path`, relative to the data's folder, has a picture's extension and is not in a leftover folder.

    A copy in a hidden folder would count as another picture of its class, so that a query could be a support image.

    Example:

    >>> is_picture(Path("deeper/1.png")), is_picture(Path(".ipynb_checkpoints/1-checkpoint.png"))
    (True, False)
    """
    return path.suffix.lower() in extensions() and not any(map(is_leftover, path.parts))


def decode(data: bytes, size: int | None, channels: int, where: str | Path) -> np.ndarray:
    """The pixels of one picture.

    Transparent pictures are composited onto white, 16-bit ones keep their upper 8 bits (rounded), animations give their first frame, and
    photographs are rotated upright by their EXIF orientation.  A picture of another size is resized whole (Lanczos), not cropped.

    Args:
        data: The file's bytes.
        size: Height and width of the result; None to keep the picture's own.
        channels: 3 for RGB, 1 for greyscale.
        where: The file, for the message.

    Returns:
        uint8 array `[height, width, channels]`.

    Raises:
        DataError: If it is not a picture, is truncated or damaged, or has a mode without a fixed white.

    Example:

    >>> decode(Path("cat.png").read_bytes(), 84, 3, "cat.png").shape
    (84, 84, 3)
    """
    try:
        with Image.open(io.BytesIO(data), formats=formats()) as image:
            image.load()
            image = _opaque(ImageOps.exif_transpose(image)).convert("RGB" if channels == 3 else "L")
            if size is not None and image.size != (size, size):
                image = image.resize((size, size), Image.Resampling.LANCZOS)
            return np.asarray(image).reshape(image.height, image.width, channels)
    except Exception as error:  # Pillow raises many types: OSError for a cut file, SyntaxError for a broken PNG, ValueError for a mode
        reason = "it is not a picture" if isinstance(error, Image.UnidentifiedImageError) else str(error).splitlines()[0]
        raise DataError(f"{where}: cannot be decoded: {reason}. Received: {len(data)} bytes.") from error


def _opaque(image: Image.Image) -> Image.Image:
    """The picture with 8 bits per channel and without transparency."""
    if image.mode == "F":
        raise ValueError("its pixels are floating-point numbers, of which none is white")
    if image.mode.startswith("I"):
        return Image.fromarray(np.rint(np.clip(np.asarray(image, "float64"), 0, 65535) / 257).astype("uint8"))
    if not image.has_transparency_data:
        return image
    image = image.convert("RGBA")
    return Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)


def in_parallel(function: Callable, items: Sequence, title: str) -> Iterator:
    """The results of a function over a list, in order, with a progress bar on the terminal.

    Example:

    >>> np.stack(list(in_parallel(read, paths, "Decoding")))
    """
    console = Console(stderr=True)
    with ThreadPool(_THREADS) as pool:
        done = pool.imap(function, items, chunksize=32)
        yield from track(done, title, len(items), console=console) if console.is_terminal else done
