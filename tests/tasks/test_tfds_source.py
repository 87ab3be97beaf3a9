"""Data sets of TensorFlow Datasets that are damaged: one line that says what to do."""

import pytest
import tensorflow as tf

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks.tfds_source import intact, prepared


def cut(path):
    path.write_bytes(path.read_bytes()[:-5])


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (cut, "DataLossError"),
        (lambda path: path.unlink(), "NotFoundError"),
        (lambda path: path.write_bytes(path.read_bytes()[:-30] + bytes(30)), "DataLossError"),
        (lambda path: None, "ValueError: not enough values"),
    ],
    ids=["cut", "deleted", "overwritten", "other content"],
)
def test_a_damaged_file_is_one_line(tmp_path, damage, reason):
    path = tmp_path / "part.tfrecord"
    with tf.io.TFRecordWriter(str(path)) as file:
        for number in range(3):
            file.write(bytes([number]) * 100)
    damage(path)
    with pytest.raises(DataError, match=f"^Letters in {tmp_path} is damaged; delete that folder .* Received: {reason}") as error:
        with intact("Letters", tmp_path):
            a, b, c, d = tf.data.TFRecordDataset(str(path)).as_numpy_iterator()
    assert "\n" not in str(error.value)


def test_an_error_of_ours_keeps_its_message(tmp_path):
    with pytest.raises(DataError, match="^Letters must have 3 classes.$"):
        with intact("Letters", tmp_path):
            raise DataError("Letters must have 3 classes.")


@pytest.mark.parametrize("content", ["", "{", "[]"])
def test_a_damaged_description_is_one_line(tmp_path, content):
    folder = tmp_path / "omniglot" / "3.0.0"
    folder.mkdir(parents=True)
    (folder / "dataset_info.json").write_text(content, encoding="utf-8")
    (folder / "features.json").write_text(content, encoding="utf-8")
    with pytest.raises(DataError, match=f"Omniglot .*{tmp_path}") as error:
        prepared("omniglot", "Omniglot", str(tmp_path))
    assert "\n" not in str(error.value)
