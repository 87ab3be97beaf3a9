"""A training divided over devices or processes gives the numbers of one device, and outlives the loss of a process."""

import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import tensorflow as tf
import yaml

from benchmarks.local_cluster import local_cluster
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.training import workers
from stochlwta_tf.training.records import COSTS, read
from stochlwta_tf.training.run_folder import RunFolder
from tests.helpers import REPOSITORY
from tests.helpers.divided import LEARNERS, RESUMED, values


def config(**training):
    given = values("reptile", "none")
    return configuration.from_dict({**given, "training": {**given["training"], "micro_batch": None, **training}})


def several(count, index=0):
    made = workers.Workers(index=index, count=count)
    made.replicas = 2 * count
    return made


def test_each_process_has_its_places_of_a_batch():
    assert workers.Workers().parts(config(micro_batch=2)) == (None, None)
    assert several(2, 1).parts(config(meta_batch_size=8)) == (range(4, 8), range(2, 4))


@pytest.mark.badinput
@pytest.mark.parametrize(
    ("training", "message"),
    [
        ({"meta_batch_size": 6}, "training.meta_batch_size must be a multiple of the 4 replicas. Received: training.meta_batch_size=6."),
        ({"meta_batch_size": 8, "micro_batch": 4}, "training.micro_batch must divide the 2 tasks of a replica."),
    ],
)
def test_a_batch_that_cannot_be_divided_is_one_line(training, message):
    with pytest.raises(ConfigurationError, match=message):
        several(2).parts(config(**training))


@pytest.mark.badinput
@pytest.mark.parametrize("text", ["", "[]", "{}", '{"cluster": {"worker": ["a:1"]}, "task": {"type": "worker", "index": 1}}'])
def test_a_cluster_that_is_not_described_is_one_line(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(ConfigurationError, match="multi_worker needs the environment variable TF_CONFIG, such as"):
        workers.start(configuration.from_dict(values("reptile", "multi_worker")))


def test_the_chief_comes_before_the_workers():
    cluster = {"chief": ["a:1"], "worker": ["b:1", "c:1"]}
    places = [("chief", 0), ("worker", 0), ("worker", 1)]
    texts = [json.dumps({"cluster": cluster, "task": {"type": kind, "index": number}}) for kind, number in places]
    assert [workers._place(text) for text in texts] == [(0, 3), (1, 3), (2, 3)]


def start(arguments, log, place=None):
    """A process; `place` is the `TF_CONFIG` of a worker."""
    path = os.pathsep.join([str(REPOSITORY), os.environ.get("PYTHONPATH", "")])
    environment = {**os.environ, "PYTHONPATH": path}
    if place is not None:
        environment["TF_CONFIG"] = place
    with log.open("a") as file:
        return subprocess.Popen([sys.executable, "-m", *map(str, arguments)], env=environment, stdout=file, stderr=file)


def state(folder):
    found = tf.train.load_checkpoint(tf.train.latest_checkpoint(str(folder.checkpoints)))
    names = [n for n in found.get_variable_to_shape_map() if not n.startswith("_") and "metric" not in n and "seed" not in n]
    return {name: found.get_tensor(name) for name in names}


@pytest.fixture(scope="module")
def divided(tmp_path_factory):
    """`divided("mirrored")`: the folder of the runs of every learner, made in this way."""
    place = tmp_path_factory.mktemp("divided")

    def run(distribution):
        out, log = place / distribution, place / f"{distribution}.log"
        if not out.exists():
            places = local_cluster(2) if distribution == "multi_worker" else [None]
            command = ["tests.helpers.divided", distribution, out]
            processes = [start(command, log, place) for place in places]
            assert [process.wait() for process in processes] == [0] * len(places), log.read_text()[-3000:]
        return out

    return run


@pytest.mark.slow
@pytest.mark.parametrize("distribution", ["mirrored", "multi_worker"])
def test_every_learner_has_the_numbers_of_one_device_and_resumes(divided, distribution):
    one, other = divided("none"), divided(distribution)
    for learner in LEARNERS:
        expected, found = (RunFolder(place / learner) for place in (one, other))
        assert int(state(found)["learner/optimizer/_iterations/.ATTRIBUTES/VARIABLE_VALUE"]) == 20
        for name, value in state(expected).items():
            np.testing.assert_allclose(state(found)[name], value, rtol=1e-5, atol=1e-5, err_msg=f"{learner}: {name}")
        for a, b in zip(read(expected.metrics), read(found.metrics), strict=True):
            columns = a.keys() - set(COSTS)
            assert [float(b[c] or 0) for c in columns] == pytest.approx([float(a[c] or 0) for c in columns], rel=1e-5), learner
    for name, value in state(RunFolder(other / RESUMED)).items():
        np.testing.assert_array_equal(state(RunFolder(other / "resumed"))[name], value)
    stopped = [path.read_text().split(". The last")[0] for path in sorted(other.glob("stopped-*.txt"))]
    said = (one / "stopped-0.txt").read_text().split(". The last")[0]
    assert "task 0, inner step" in said
    assert stopped == [said] * (2 if distribution == "multi_worker" else 1)


@pytest.mark.slow
@pytest.mark.parametrize("killed", [0, 1])
def test_a_worker_that_is_killed_and_started_again_goes_on_with_the_others(tmp_path, killed):
    given = values("maml", "multi_worker")
    given["training"] |= {"iterations": 600, "log_every": 10, "validate_every": 0, "keep_best": False}
    (tmp_path / "tiny.yaml").write_text(yaml.safe_dump(given))
    command = ["stochlwta_tf.cli.train", "--config", tmp_path / "tiny.yaml", "--out", tmp_path / "run"]
    places, metrics = local_cluster(2), tmp_path / "run" / "metrics.csv"
    processes = {index: start(command, tmp_path / f"{index}.log", place) for index, place in enumerate(places)}
    end = time.monotonic() + 900
    while len(read(metrics)) < 5:
        assert all(process.poll() is None for process in processes.values()) and time.monotonic() < end
        time.sleep(0.1)
    processes[killed].send_signal(signal.SIGKILL)
    processes[killed].wait()
    processes[killed] = start(command, tmp_path / f"{killed}.log", places[killed])
    assert [process.wait(timeout=1200) for process in processes.values()] == [0, 0]
    assert "another worker has ended" in (tmp_path / f"{1 - killed}.log").read_text()
    assert [int(row["iteration"]) for row in read(metrics)] == list(range(10, 601, 10))
    alone = [*command[:-1], tmp_path / "alone", "--set", "runtime.distribution=none"]
    assert start(alone, tmp_path / "alone.log").wait() == 0
    for name, value in state(RunFolder(tmp_path / "alone")).items():
        np.testing.assert_allclose(state(RunFolder(tmp_path / "run"))[name], value, rtol=1e-4, atol=1e-4, err_msg=name)
