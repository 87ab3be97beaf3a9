"""Data sets that TensorFlow Datasets downloads."""

import contextlib
import os
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from stochlwta_tf.errors import DataError, UserError
from stochlwta_tf.tasks.reading import named


def prepared(name: str, title: str, data_dir: str | None = None) -> Any:
    """The tfds builder of a data set, downloaded and prepared if necessary.

    Args:
        name: Its name in TensorFlow Datasets.
        title: Its name in messages.
        data_dir: Folder of TensorFlow Datasets; `None` for `$TFDS_DATA_DIR`, else `~/tensorflow_datasets`.

    Raises:
        DataError: If the data is missing and cannot be downloaded, or is damaged.

    Example:

    >>> data = prepared("omniglot", "Omniglot").as_dataset(split="train")
    """
    import tensorflow_datasets as tfds  # here, because it takes seconds and is not needed once the data is cached

    place = named(data_dir or os.environ.get("TFDS_DATA_DIR") or "~/tensorflow_datasets", "TFDS_DATA_DIR") / name
    with intact(title, place):
        builder = tfds.builder(name, data_dir=data_dir)
    try:
        if not builder.is_prepared():  # tfds would retry for minutes where there is no network
            urllib.request.urlopen(builder.info.homepage, timeout=10).close()
        builder.download_and_prepare()
    except Exception as error:  # a failed download raises a different type at each stage, from DNS to checksum
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise DataError(
            f"{title} is not in {builder.data_dir} and could not be downloaded ({reason}); set data_dir or TFDS_DATA_DIR to the folder"
            f" that holds {name}/."
        ) from error
    return builder


@contextlib.contextmanager
def intact(title: str, folder: str | Path) -> Iterator[None]:
    """Turns whatever a damaged data set raises while it is read into one line that says what to do.

    Args:
        title: The data set's name.
        folder: Where it is.

    Raises:
        DataError: The block has failed, whatever with: files are cut, missing, or have other content.

    Example:

    >>> with intact("Omniglot", builder.data_dir):
    ...     images = list(builder.as_dataset(split="train"))
    """
    try:
        yield
    except UserError:
        raise
    except Exception as error:  # DataLossError, NotFoundError, ParseError, KeyError, …
        reason = f"{type(error).__name__}: {error}".splitlines()[0][:200]
        raise DataError(f"{title} in {folder} is damaged; delete that folder and prepare the data again. Received: {reason}.") from error
