"""Lines of progress where there is no terminal."""

import pytest

from stochlwta_tf import progress


@pytest.fixture
def clock(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(progress.time, "perf_counter", lambda: now[0])
    return now


def test_the_first_the_last_and_one_in_half_a_minute(clock, capsys):
    lines = progress.Lines("Training", 1000)
    clock[0] = 50.0
    lines.begin(0)
    for done in range(100, 1001, 100):
        clock[0] += 16.0
        lines.update(done, f"loss {done}")
    said = capsys.readouterr().err.splitlines()
    assert [line.split(",")[0] for line in said] == [f"Training: {n}/1000" for n in (100, 300, 500, 700, 900, 1000)]
    assert said[0] == "Training: 100/1000, 2:24 left, loss 100" and said[-1] == "Training: 1000/1000, loss 1000"


def test_what_was_done_before_does_not_count_for_the_time_left(clock, capsys):
    lines = progress.Lines("Training", 10000)
    clock[0] = 60.0
    lines.update(9000, "compiling")
    lines.begin(9000)
    clock[0] += 3600.0
    lines.update(9100)
    assert capsys.readouterr().err == "Training: 9000/10000, compiling\nTraining: 9100/10000, 9:00:00 left\n"


def test_an_item_may_count_for_many_and_the_first_compiles(clock, capsys):
    for number, _ in enumerate(progress.tracked("abcd", "Testing", 75, 20)):
        clock[0] += 15.0 if number else 40.0
    assert capsys.readouterr().err.splitlines() == ["Testing: 0/75", "Testing: 20/75", "Testing: 60/75, 0:11 left", "Testing: 75/75"]
