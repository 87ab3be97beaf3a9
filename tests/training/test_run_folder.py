"""Run folders: atomic files, refusals, and what a disk can do."""

import errno
import json
import os

import pytest
import tensorflow as tf

from stochlwta_tf.cli import train
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import UserError
from stochlwta_tf.training.run_folder import RunFolder, environment, replacing, write_json, write_text

CONFIG = configuration.from_dict(
    {
        "name": "tiny",
        "seed": 3,
        "task": {"name": "sinusoid"},
        "network": {"name": "dense_lwta"},
        "learner": {"name": "stochlwta"},
        "optimizer": {"name": "sgd", "learning_rate": 0.25},
        "training": {"iterations": 100, "meta_batch_size": 4},
    }
)


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    with pytest.raises(RuntimeError), replacing(path) as part:
        part.write_text("ha")
        raise RuntimeError("a crash in the middle")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["a.txt"]


@pytest.mark.parametrize(
    "raised",
    [
        OSError(errno.ENOSPC, "No space left on device"),
        tf.errors.ResourceExhaustedError(None, None, "{{function_node SaveV2}} /runs/ckpt-1.index; No space left on device [Op:SaveV2]"),
    ],
)
def test_a_full_disk_is_one_line(tmp_path, raised):
    path = tmp_path / "a.txt"
    with pytest.raises(UserError) as error, replacing(path):
        raise raised
    assert str(error.value) == f"{path}: cannot be written: No space left on device. What was written before is kept."


def test_a_folder_that_cannot_be_made_is_one_line(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match=r"file/run: cannot be written: Not a directory"):
        RunFolder(tmp_path / "file" / "run").begin(CONFIG)
    with pytest.raises(UserError, match=r"file/a.txt: cannot be written: Not a directory"):
        write_text(tmp_path / "file" / "a.txt", "")


def test_two_processes_do_not_train_in_one_folder(tmp_path, capsys):
    folder = RunFolder(tmp_path / "run")
    folder.begin(CONFIG)
    with folder.alone():  # locks are of open files: in this process as in another
        assert train.main(["--resume", "--out", str(folder.path)]) == 2
    assert capsys.readouterr().err.splitlines()[-1].startswith(f"error: {folder.path}: another process is training here;")
    with folder.alone():  # let go of after the block
        pass
    with pytest.raises(UserError, match=r"cannot be written: Not a directory"), RunFolder(folder.config / "run").alone():
        pass


def test_each_start_is_described(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin(CONFIG)
    folder.begin(CONFIG)
    starts = json.loads(folder.environment.read_text())
    assert len(starts) == 2
    assert starts[0]["seed"] == 3
    assert starts[0]["cpus"] >= 1
    assert starts[0]["packages"]["tensorflow"]
    assert configuration.load(folder.config).resolved() == CONFIG.resolved()


@pytest.mark.parametrize("content", [b"", b"[{", b"\xca\xb5\xd1\xe9", b"{}", b"[]\0\0"], ids=["empty", "cut", "GBK", "object", "zeros"])
def test_an_environment_that_cannot_be_read_is_set_aside(tmp_path, capsys, content):
    folder = RunFolder(tmp_path / "run")
    for number in (1, 2):
        folder.begin(CONFIG)
        folder.environment.write_bytes(content)
        folder.begin(CONFIG)
        aside = folder.path / f"environment-damaged-{number}.json"
        assert aside.read_bytes() == content
        assert capsys.readouterr().err.endswith(f"set aside as {aside.name}.\n")
        assert len(json.loads(folder.environment.read_text(encoding="utf-8"))) == 1


def test_an_environment_is_read_as_it_was_written(tmp_path, monkeypatch, capsys):
    folder = RunFolder(tmp_path / "run")
    monkeypatch.setattr("sys.argv", ["train.py", "--out", "实验"])
    monkeypatch.setattr("locale.getencoding", lambda: "ascii", raising=False)  # from Python 3.11 on
    folder.begin(CONFIG)
    folder.begin(CONFIG)
    assert [start["command"] for start in json.loads(folder.environment.read_bytes())] == ["train.py --out 实验"] * 2
    assert not capsys.readouterr().err


def test_data_is_recorded_once(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.begin(CONFIG, {"train": 1})
    folder.begin(CONFIG, {"train": 2})
    assert json.loads(folder.data.read_text()) == {"train": 1}
    killed = RunFolder(tmp_path / "killed")
    killed.begin(CONFIG)
    killed.begin(CONFIG, {"train": 2})  # nothing was trained before the record
    assert json.loads(killed.data.read_text()) == {"train": 2}
    old = RunFolder(tmp_path / "old")
    old.begin(CONFIG)
    old.checkpoints.mkdir()
    (old.checkpoints / "ckpt-100.index").touch()
    old.begin(CONFIG, {"train": 2})  # of a run that began without, it is not known what it began with
    assert not old.data.exists()


def test_environment_is_plain_json():
    assert json.loads(json.dumps(environment(CONFIG))) == environment(CONFIG)


def test_a_run_is_neither_overwritten_nor_mixed_with_another(tmp_path):
    folder = RunFolder(tmp_path / "run")
    folder.check(CONFIG, resume=False)
    folder.begin(CONFIG)
    folder.check(CONFIG, resume=True)
    with pytest.raises(UserError, match="already contains a run: resume it with --resume"):
        folder.check(CONFIG, resume=False)
    other = configuration.load(folder.config, ["learner.inner_lr=0.1"])
    with pytest.raises(UserError, match=r"config.yaml: the run to resume has learner.inner_lr=0.003. Received: learner.inner_lr=0.1."):
        folder.check(other, resume=True)


def test_a_run_that_another_process_began_meanwhile_is_not_continued_with_other_options(tmp_path):
    late = configuration.from_dict({**CONFIG.resolved(), "seed": 4})
    folder = RunFolder(tmp_path / "run")
    folder.check(late, resume=False)
    folder.begin(CONFIG)
    with pytest.raises(UserError, match=r"config.yaml: the run to resume has seed=3. Received: seed=4."):
        folder.begin(late)


@pytest.mark.parametrize("resume", [False, True])
def test_a_folder_of_something_else_is_left_alone(tmp_path, resume):
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(UserError, match="exists and is not a run"):
        RunFolder(tmp_path).check(CONFIG, resume)


def test_a_name_that_is_not_utf8_is_refused_or_written_and_read_back(tmp_path):
    name = os.fsdecode(b"caf\xe9")
    with pytest.raises(UserError, match=r"needs a name in UTF-8: choose another with --out. Received: b'caf\\xe9'"):
        RunFolder(name).check(None, resume=False)
    write_json(tmp_path / "a.json", {"command": f"train.py --config {name}", "letter": "é"})
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == {"command": f"train.py --config {name}", "letter": "é"}
