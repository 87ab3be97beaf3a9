import collections
import os
import pickle

import numpy as np
import pytest

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks import safe_pickle


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_in_dictionaries_come_back(tmp_path, protocol):
    images = np.arange(24, dtype="uint8").reshape(2, 3, 4)
    content = {"image_data": images, "class_dict": collections.OrderedDict(a=[0, 1], b=np.array([1]), c=[np.int64(1)]), "n": range(3)}
    (tmp_path / "x.pkl").write_bytes(pickle.dumps(content, protocol))
    loaded = safe_pickle.load(tmp_path / "x.pkl")
    np.testing.assert_array_equal(loaded["image_data"], images)
    assert loaded["image_data"].dtype == "uint8" and loaded["class_dict"]["a"] == [0, 1] and loaded["class_dict"]["b"].tolist() == [1]
    assert list(loaded["n"]) == [0, 1, 2]


def test_pickles_of_python_2_and_old_numpy_come_back(tmp_path):
    """Written out by hand, as Python 2 with its NumPy does: byte strings, and numpy.core."""
    content = (
        b"\x80\x02}q\x01(U\nimage_dataq\x02cnumpy.core.multiarray\n_reconstruct\nq\x03cnumpy\nndarray\nq\x04K\x00\x85U\x01b\x87Rq\x05"
        b"(K\x01K\x02K\x02\x86cnumpy\ndtype\nq\x06U\x02u1K\x00K\x01\x87Rq\x07(K\x03U\x01|NNNJ\xff\xff\xff\xffJ\xff\xff\xff\xffK\x00tb"
        b"\x89U\x04\x00\x7f\x80\xfftbU\nclass_dictq\x08}U\x01a]K\x01asu."
    )
    (tmp_path / "x.pkl").write_bytes(content)
    loaded = safe_pickle.load(tmp_path / "x.pkl")
    np.testing.assert_array_equal(loaded[b"image_data"], np.array([[0, 127], [128, 255]], "uint8"))
    assert loaded[b"class_dict"] == {b"a": [1]}


class Attack:
    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


@pytest.mark.badinput
@pytest.mark.parametrize("protocol", [0, 2, 4])
@pytest.mark.parametrize("function", [os.mkdir, eval, exec, getattr, np.load, np.fromfile, pickle.loads], ids=lambda f: f.__name__)
def test_an_attack_is_one_line_and_runs_nothing(tmp_path, monkeypatch, function, protocol):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.pkl").write_bytes(pickle.dumps({"image_data": Attack(function, "made"), "class_dict": {}}, protocol))
    with pytest.raises(DataError, match=rf"x.pkl: .* nothing of the file was run. Received: .*{function.__name__}") as error:
        safe_pickle.load(tmp_path / "x.pkl")
    assert "\n" not in str(error.value) and os.listdir(tmp_path) == ["x.pkl"]


@pytest.mark.badinput
def test_encodings_that_expand_are_refused(tmp_path):
    (tmp_path / "x.pkl").write_bytes(b"c_codecs\nencode\n(Vabc\nVzlib\ntR.")
    with pytest.raises(DataError, match="not a whole pickle"):
        safe_pickle.load(tmp_path / "x.pkl")


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"<!DOCTYPE html>\n<title>Sign in</title>", "a web page, get it again .* begins with b'<!DOCTYPE html>"),
        (b"", "not a whole pickle, get it again"),
        (pickle.dumps({"image_data": np.zeros(5000, "uint8")})[:3000], "not a whole pickle, get it again"),
    ],
)
def test_what_is_no_pickle_is_one_line(tmp_path, content, message):
    (tmp_path / "x.pkl").write_bytes(content)
    with pytest.raises(DataError, match=message) as error:
        safe_pickle.load(tmp_path / "x.pkl")
    assert "\n" not in str(error.value)
