"""Damaged files of a run, and what the environment may hold."""

import json
import random
import shutil

import keras
import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.training.run_folder import RunFolder

pytestmark = pytest.mark.badinput


@pytest.fixture
def copy(run, tmp_path):
    return RunFolder(shutil.copytree(run.path, tmp_path / "run"))


def flipped(data, seed):
    values = random.Random(seed)
    place = values.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << values.randrange(8)]) + data[place + 1 :]


MODELS = {
    "empty": lambda data: b"",
    "zeros": lambda data: bytes(len(data)),
    "text": lambda data: b"a model\n",
    "a web page": lambda data: b"<!DOCTYPE html>\n<p>Sign in",
    "a quarter": lambda data: data[: len(data) // 4],
    "all but the end": lambda data: data[:-20],
    "an empty zip": lambda data: b"PK\5\6" + bytes(18),
    "HDF5's first bytes": lambda data: b"\x89HDF\r\n\x1a\n" + bytes(100),
}


@pytest.mark.parametrize("damage", MODELS)
def test_a_damaged_model(copy, refused, damage):
    copy.model.write_bytes(MODELS[damage](copy.model.read_bytes()))
    assert f"{copy.model}: cannot be loaded, it is damaged or" in refused(evaluate.main, ["--run", str(copy.path)])


def test_a_model_that_is_a_folder(copy, refused):
    copy.model.unlink()
    copy.model.mkdir()
    assert f"{copy.model}: cannot be loaded, it is damaged or" in refused(evaluate.main, ["--run", str(copy.path)])


def test_a_model_that_is_no_learner(copy, refused):
    keras.Sequential([keras.Input((1,)), keras.layers.Dense(1)]).save(copy.model)
    message = refused(evaluate.main, ["--run", str(copy.path)])
    assert message.endswith("must be a learner that train.py saved. Received: a model of the class Sequential.")


def test_a_model_with_one_bit_flipped(run, copy, capfd):
    """Either it is refused, or the bit meant nothing: the test is that of the whole model."""

    def tested():
        status = evaluate.main(["--run", str(copy.path), "--tasks", "4"])
        return status, json.loads(copy.evaluation.read_text())["measures"] if status == 0 else None

    data, (_, whole) = copy.model.read_bytes(), tested()
    refusals = 0
    for seed in range(12):
        copy.model.write_bytes(flipped(data, seed))
        capfd.readouterr()
        status, measures = tested()
        assert (status, measures) == (0, whole) or status == 2, seed
        if status == 2:
            refusals += 1
            assert capfd.readouterr().err.count("\n") == 1
    assert refusals


RECORDS = {
    "empty": b"",
    "not JSON": b"{",
    "a list": b"[]",
    "other values": b'{"train": 3}',
    "zeros": bytes(30),
    "latin-1": b'{"train": "\xe9"}',
}


@pytest.mark.parametrize("case", RECORDS)
def test_a_damaged_record_of_the_data(copy, refused, case):
    copy.data.write_bytes(RECORDS[case])
    message = refused(evaluate.main, ["--run", str(copy.path)])
    assert f"{copy.data}: the record of the training data cannot be read; restore it, or delete it" in message


@pytest.mark.parametrize("content", [b"", bytes(40), b"name: [", b"\xff\xfe", b"name: tiny\n"], ids=repr)
def test_a_damaged_configuration(copy, refused, content):
    copy.config.write_bytes(content)
    assert f"error: {copy.config}" in refused(evaluate.main, ["--run", str(copy.path)])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"name": 3}', bytes(20), b"\xff"], ids=repr)
def test_a_damaged_result_is_named_and_left_out_of_a_table(copy, capfd, content):
    copy.evaluation.write_bytes(content)
    assert evaluate.main(["--table", "5", "--runs", str(copy.path)]) == 0
    said = capfd.readouterr()
    assert "Traceback" not in said.err and sum("evaluation.json" in line for line in said.err.splitlines()) == 1
