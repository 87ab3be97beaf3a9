import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from stochlwta_tf.errors import DataError
from stochlwta_tf.tasks import ClassBank
from stochlwta_tf.tasks.cache import cache_folder, cached_bank


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path))
    return tmp_path


class Builder:
    def __init__(self):
        self.calls = 0

    def __call__(self):
        self.calls += 1
        return ClassBank(np.arange(400, dtype="uint8").reshape(100, 2, 2, 1), [0, 40], [40, 60], ["ä", "b"])


def test_built_once_for_the_same_settings(folder):
    build = Builder()
    a, b = (cached_bank("x", {"size": 2}, build) for _ in range(2))
    assert build.calls == 1 and isinstance(b.images, np.memmap) and b.names == ("ä", "b") and b.count.tolist() == [40, 60]
    np.testing.assert_array_equal(a.images, b.images)
    np.testing.assert_array_equal(a.digests, Builder()().digests)
    cached_bank("x", {"size": 3}, build)
    cached_bank("y", {"size": 2}, build)
    assert build.calls == 3 and len(list(folder.iterdir())) == 6


def test_digests_are_stored_with_the_images_and_not_missed_where_they_are_not(folder, monkeypatch):
    expected = cached_bank("x", {}, Builder()).digests
    monkeypatch.setattr("stochlwta_tf.tasks.class_bank.hashlib.blake2b", None)
    np.testing.assert_array_equal(cached_bank("x", {}, None).digests, expected)
    monkeypatch.undo()
    monkeypatch.setenv("STOCHLWTA_CACHE", str(folder))
    (path,) = folder.glob("*.json")
    path.write_text(json.dumps({k: v for k, v in json.loads(path.read_text()).items() if k != "digests"}))  # as before they were kept
    np.testing.assert_array_equal(cached_bank("x", {}, None).digests, expected)


@pytest.mark.parametrize("suffix", [".npy", ".json"])
@pytest.mark.parametrize("damage", ["missing", "cut", "empty", "altered"])
def test_damage_is_repaired(folder, suffix, damage):
    build = Builder()
    cached_bank("x", {}, build)
    (path,) = folder.glob(f"*{suffix}")
    content = path.read_bytes()
    if damage == "missing":
        path.unlink()
    else:
        altered = content[:-5] + b"\xff" + content[-4:]
        path.write_bytes({"cut": content[: len(content) // 2], "empty": b"", "altered": altered}[damage])
    for _ in range(2):
        np.testing.assert_array_equal(cached_bank("x", {}, build).images, build().images)
    assert build.calls == 4 and path.read_bytes() == content  # two of them by this test


@pytest.mark.slow
def test_a_kill_while_writing_leaves_nothing_that_counts(folder):
    program = """
import numpy as np
from stochlwta_tf.tasks import ClassBank, cache
def slow(file, array):
    file.write(b"half of it")
    file.flush()
    print("writing", flush=True)
    import time; time.sleep(60)
cache.np.save = slow
cache.cached_bank("x", {}, lambda: ClassBank(np.zeros((1, 2, 2, 1), "uint8"), [0], [1], ["a"]))
"""
    process = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    assert process.stdout.readline() == "writing\n"
    process.send_signal(signal.SIGKILL)
    process.wait()
    (left,) = folder.iterdir()
    os.utime(left, (time.time() - 7200,) * 2)
    build = Builder()
    assert len(cached_bank("x", {}, build)) == len(cached_bank("x", {}, build)) == 2
    assert build.calls == 1 and not left.exists() and len(list(folder.iterdir())) == 2


def test_folder_that_cannot_be_written_is_named(folder, monkeypatch):
    (folder / "file").write_text("")
    monkeypatch.setenv("STOCHLWTA_CACHE", str(folder / "file"))
    with pytest.raises(DataError, match="file.*set STOCHLWTA_CACHE to a writable folder") as error:
        cached_bank("x", {}, Builder())
    assert "\n" not in str(error.value)


def test_default_folder(monkeypatch, tmp_path):
    monkeypatch.delenv("STOCHLWTA_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "stochlwta_tf"
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert cache_folder() == tmp_path / ".cache" / "stochlwta_tf"


def test_what_is_in_use_is_shared_and_read_once(monkeypatch):
    first = cached_bank("x", {}, Builder())
    monkeypatch.setattr("stochlwta_tf.tasks.cache.np.load", None)
    assert cached_bank("x", {}, None) is first


def test_a_user_without_a_home_is_told_what_to_set(monkeypatch):
    def none(path):
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.setattr(Path, "expanduser", none)
    monkeypatch.delenv("STOCHLWTA_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    with pytest.raises(
        DataError, match="^STOCHLWTA_CACHE must name a file or folder, because there is no home folder. Received: ~/.cache/stochlwta_tf.$"
    ):
        cache_folder()
