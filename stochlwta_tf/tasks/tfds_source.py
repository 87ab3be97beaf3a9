"""Data sets that TensorFlow Datasets downloads."""

import urllib.request
from typing import Any

from stochlwta_tf.errors import DataError


def prepared(name: str, title: str, data_dir: str | None = None) -> Any:
    """The tfds builder of a data set, downloaded and prepared if necessary.

    Args:
        name: Its name in TensorFlow Datasets.
        title: Its name in messages.
        data_dir: Folder of TensorFlow Datasets; `None` for `$TFDS_DATA_DIR`, else `~/tensorflow_datasets`.

    Raises:
        DataError: If the data is missing and cannot be downloaded.

    Example:

    >>> data = prepared("omniglot", "Omniglot").as_dataset(split="train")
    """
    import tensorflow_datasets as tfds  # here, because it takes seconds and is not needed once the data is cached

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
