"""Commands side by side: each with its cores, all that is said kept apart, and none left when the suite is stopped."""

import os
import signal
import subprocess
import sys
import time

import pytest
import yaml

from stochlwta_tf.cli import budgets, train
from stochlwta_tf.cli import suite_runner as suite
from stochlwta_tf.cli.launchers import OneByOne, Processes, shares
from stochlwta_tf.config import configuration, suites
from tests.faults.runs import weights
from tests.helpers.tiny_suite import BASE, SUITE, Starts


def test_the_shares_are_all_the_cores_and_none_twice():
    assert shares(list(range(7)), 3) == [[0, 1], [2, 3], [4, 5, 6]]
    assert shares([4, 6], 3) == [[4], [6], [4]]


ABOUT = """
import os, sys
cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else "any"
print(cores, os.environ["TF_NUM_INTRAOP_THREADS"], sys.argv[1])
sys.stderr.write("x" * 200_000 + "\\nerror: no\\n")  # more than a pipe holds
sys.exit(int(sys.argv[1]))
"""


def test_processes_run_side_by_side_each_on_its_share():
    launcher = Processes(2)
    jobs = {launcher.start(["-c", ABOUT, str(status)]): status for status in (0, 3)}
    share = max(1, len(os.sched_getaffinity(0)) // 2) if hasattr(os, "sched_getaffinity") else "any"
    for _ in range(2):
        job, (status, printed, errors) = launcher.finished(60)
        assert status == jobs.pop(job) and errors.endswith("x\nerror: no\n")
        assert printed.split()[0] == str(share) and printed.split()[1:] == [printed.split()[1], str(status)]
    assert launcher.finished(0) is None


def test_what_is_under_way_is_ended_also_where_it_does_not_listen():
    launcher, ready = Processes(2), "import signal, sys, time; {}; print(1, flush=True); time.sleep(600)"
    for setting in ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))", "signal.signal(signal.SIGTERM, signal.SIG_IGN)"):
        launcher.start(["-c", ready.format(setting)])
    processes = [process._process for process in launcher._active.values()]
    time.sleep(1)  # they have started, or SIGTERM ends them before
    launcher._active[1].end = lambda end=launcher._active[1].end: end(0.1)
    launcher.stop()
    assert [process.poll() is None for process in processes] == [False, False]
    assert launcher.finished(0) is None


class Together:
    """A launcher whose commands are all under way until the last one that fits has been started; they end in the opposite order."""

    slots = 4

    def __init__(self, starts):
        self._starts, self.active, self.most, self.stopped = starts, [], 0, False

    def start(self, arguments):
        self.active.append(tuple(arguments))
        self.most = max(self.most, len(self.active))
        return tuple(arguments)

    def finished(self, seconds):
        job = self.active.pop()
        return job, self._starts(list(job))

    def stop(self):
        self.stopped = True


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    (tmp_path / "configs" / "suites").mkdir(parents=True)
    (tmp_path / "configs" / "base.yaml").write_text(yaml.safe_dump(BASE))
    (tmp_path / "configs" / "suites" / "tiny.yaml").write_text(yaml.safe_dump(SUITE))
    monkeypatch.chdir(tmp_path)
    return suites.load("tiny")


def test_a_budget_is_measured_once_while_other_seeds_wait_and_the_result_is_as_one_by_one(tiny, tmp_path):
    made = {}
    for name, launcher in (("one", OneByOne(Starts(fails=["explodes"]))), ("together", Together(Starts(fails=["explodes"])))):
        starts = launcher._start if name == "one" else launcher._starts
        failures = suite.Runner(tmp_path / name, budgets.Budget.parse("1m"), launcher, lambda _: None).run(tiny)
        configs = {path.parent.name: path.read_text() for path in (tmp_path / name).glob("*/config.yaml")}
        made[name] = ([failure.replace(name, "") for failure in failures], configs)
    assert made["one"] == made["together"]
    assert [call[1] for call in starts.calls if "--rate" in call] == ["stochlwta_tf.cli.timing"] * 4  # a failing one for each seed
    assert launcher.most > 1 and launcher.stopped


@pytest.mark.slow
def test_jobs_side_by_side_make_the_runs_of_one_after_another_and_a_signal_leaves_them_resumable(tiny, tmp_path, capfd):
    rows = [row for row in SUITE["rows"] if row["label"] in "ab"]
    (tmp_path / "configs" / "suites" / "tiny.yaml").write_text(yaml.safe_dump({**SUITE, "rows": rows, "seeds": [0]}))
    assert train.main(["--suite", "tiny", "--budget", "20000it", "--out", "one"]) == 0
    command = [sys.executable, "-m", "stochlwta_tf.cli.train", "--suite", "tiny", "--budget", "20000it", "--out", "two", "--jobs", "2"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    files = [tmp_path / "two" / f"{name}-seed0" / "metrics.csv" for name in ("base", "b")]
    end = time.monotonic() + 300
    while not all(file.exists() and file.read_text().count("\n") > 2 for file in files):
        assert process.poll() is None and time.monotonic() < end
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 143 and "SIGTERM: stopped; the same command resumes." in errors
    capfd.readouterr()
    assert train.main(command[3:]) == 0
    printed = capfd.readouterr().out
    assert printed.count("resuming, training.iterations=20000") == 2
    for name in ("base-seed0", "b-seed0"):
        assert weights(tmp_path / "one" / name / "model.keras") == weights(tmp_path / "two" / name / "model.keras")


@pytest.mark.slow
def test_ray_makes_the_same_runs(tiny, tmp_path, monkeypatch, capfd):
    pytest.importorskip("ray", reason="Ray is not installed: pip install -e '.[cluster]'")
    monkeypatch.delenv("RAY_ADDRESS", raising=False)
    rows = [row for row in SUITE["rows"] if row["label"] in ("a", "explodes")]
    (tmp_path / "configs" / "suites" / "tiny.yaml").write_text(yaml.safe_dump({**SUITE, "rows": rows, "seeds": [0]}))
    assert train.main(["--suite", "tiny", "--out", "runs", "--launcher", "ray", "--jobs", "2"]) == 2
    printed = capfd.readouterr()
    assert "error: 1 failed, the other runs are complete: runs/explodes-seed0: exit status 3: not finite at iteration " in printed.err
    assert configuration.load(tmp_path / "runs" / "base-seed0" / "config.yaml").training.iterations == 200
    assert (tmp_path / "runs" / "base-seed0" / "evaluation.json").exists()
