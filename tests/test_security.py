"""What is read runs no code, and nothing is written outside its folder.

Models are in `training/test_saved_learner.py`, pickles in `tasks/test_safe_pickle.py`, lists of checkpoints in `training/test_records.py`,
PostScript among pictures in `tasks/test_picture_files.py`.
"""

import os
import zipfile

import numpy as np
import pytest
from PIL import Image

from stochlwta_tf.config import configuration, yaml_file
from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import MiniImageNet
from stochlwta_tf.tasks.cache import cached_bank
from stochlwta_tf.tasks.class_bank import ClassBank
from stochlwta_tf.tasks.class_lists import class_list
from stochlwta_tf.tasks.class_split import from_file

TAGS = [
    "!!python/object/apply:os.mkdir [made]",
    "!!python/object/new:os.mkdir [made]",
    "!!python/name:os.mkdir ''",
    "!!python/module:os ''",
]


@pytest.mark.parametrize("tag", TAGS)
def test_yaml_runs_nothing(tmp_path, monkeypatch, tag):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.yaml").write_text(f"train: {tag}\n", encoding="utf-8")
    for read in (yaml_file.read, configuration.load):
        with pytest.raises(ConfigurationError, match="a.yaml.*: not valid YAML: could not determine a constructor for the tag"):
            read(tmp_path / "a.yaml")
    with pytest.raises(ConfigurationError, match="not valid YAML: could not determine a constructor for the tag"):
        yaml_file.assigned([f"seed={tag}"])
    try:
        assert from_file(tmp_path / "a.yaml") == {"train": ["made"]}  # read as text, tag and all ignored
    except DataError as error:
        assert "must map train, validation, test to lists of classes" in str(error)
    assert os.listdir(tmp_path) == ["a.yaml"]


@pytest.mark.parametrize("name", ["../escaped", "/tmp/escaped", "a/b", "..", ".hidden", "a\\b", "a\nb", ""])
def test_a_name_cannot_lead_out_of_the_folder_of_runs(name):
    values = {"name": name, "task": {"name": "sinusoid"}, "network": {"name": "mlp"}, "learner": {"name": "maml"}}
    values |= {"optimizer": {"name": "sgd", "learning_rate": 1}, "training": {"iterations": 100, "batch": 1}}
    with pytest.raises(ConfigurationError, match="name must match pattern"):
        configuration.from_dict(values)


def test_arrays_with_objects_in_the_cache_are_not_unpickled(tmp_path, monkeypatch):
    class Attack:
        def __reduce__(self):
            return os.mkdir, (str(tmp_path / "made"),)

    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))

    def build():
        return ClassBank(np.zeros((2, 1, 1, 1), "uint8"), [0], [2], ["a"])

    cached_bank("letters", {}, build)
    (path,) = (tmp_path / "cache").glob("*.npy")
    np.save(path, np.array([Attack()], object))
    assert cached_bank("letters", {}, build).names == ("a",)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("place", ["../../", "/tmp/stochlwta_escaped/", "images/../../../"])
def test_members_of_an_archive_are_written_nowhere(tmp_path, monkeypatch, place):
    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    folder = tmp_path / "a" / "data"
    folder.mkdir(parents=True)
    rng, tables = np.random.default_rng(0), {"train": "train", "validation": "val", "test": "test"}
    with zipfile.ZipFile(folder / "images.zip", "w") as archive:
        for split, wnids in class_list("miniimagenet").items():
            rows = [(f"{wnid}{number:08}.jpg", wnid) for wnid in list(wnids)[:2] for number in range(2)]
            (folder / f"{tables[split]}.csv").write_text(
                "filename,label\n" + "".join(f"{file},{wnid}\n" for file, wnid in rows), encoding="utf-8"
            )
            for file, _ in rows:
                with archive.open(f"{place}{file}", "w") as member:
                    Image.fromarray(rng.integers(0, 256, (9, 9, 3), "uint8")).save(member, "PNG")
    before = sorted(tmp_path.rglob("*"))
    try:
        MiniImageNet("train", 1, 0, data_dir=str(folder), way=2, queries=1)
    except DataError as error:
        assert ".." in place and "the file must be in" in str(error)
    assert sorted(p for p in tmp_path.rglob("*") if "cache" not in p.parts) == before
    assert not list(tmp_path.parent.glob("n0*.jpg")) and not os.path.exists("/tmp/stochlwta_escaped")
