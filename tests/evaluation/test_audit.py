"""What each factor of the published code's scoring adds, and the number that code prints."""

import json

import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.evaluation import audit
from stochlwta_tf.figures import audit as audit_figure
from tests.helpers.bars import IMAGES, Bars

pytestmark = pytest.mark.usefixtures("bars")


def test_the_ladder_leads_from_one_protocol_to_the_other(bars_run, capsys):
    assert evaluate.main(["--run", str(bars_run.path), "--protocol", "original_code,standard"]) == 0
    ends = [json.loads((bars_run.path / name).read_text()) for name in ("evaluation.json", "evaluation-standard.json")]
    assert evaluate.main(["--run", str(bars_run.path), "--audit"]) == 0
    result = json.loads((bars_run.path / "audit.json").read_text())
    factors = [row["factor"] for row in result["ladder"]]
    assert factors == [None, "running mean", "axis", "labels", "image replacement", "class replacement", "queries"]
    assert result["ladder"][0]["accuracy"] == ends[0]["running_mean"]["test"]
    for row, end in zip((result["ladder"][1], result["ladder"][-1]), ends, strict=True):
        assert row["accuracy"] == pytest.approx(end["measures"]["accuracy"]["value"])
        assert row["ci95"] == pytest.approx(end["measures"]["accuracy"]["ci95"])
    changes = [row["change"] for row in result["ladder"][1:]]
    assert result["ladder"][0]["accuracy"] + sum(changes) == pytest.approx(result["ladder"][-1]["accuracy"])
    assert [row["factor"] for row in result["alone"]] == [None, "axis", "labels", "image replacement", "class replacement"]
    assert (bars_run.path / "audit.png").read_bytes().startswith(b"\x89PNG")
    assert "from the published scoring to the standard one" in capsys.readouterr().out


def test_the_first_rung_is_what_the_code_prints_only_where_a_mean_was_recorded():
    assert audit_figure.label({"factor": None, "evaluations": 4}) == "as the published code prints it"
    assert audit_figure.label({"factor": None}) == "the trained network, published scoring"
    assert audit_figure.label({"factor": "running mean"}) == "the trained network, published scoring"


def test_the_leak_is_that_of_drawing_with_replacement():
    tasks = Bars("test", 1000, 0, way=3, shot=2, protocol="original_code")
    assert audit.leak(tasks.sample(0), 3).mean() == pytest.approx(1 - (1 - 1 / IMAGES) ** 2, abs=0.03)
    apart = tasks.variant(rules=tasks.rules._replace(image_replacement=False))
    assert audit.leak(apart.sample(0), 3).max() == 0
    assert audit.memoriser(45.0, 5) == pytest.approx(56.0)


def test_classes_with_too_few_images_are_left_out_where_none_may_come_twice():
    tasks = {name: Bars("test", 2, 0, way=3, shot=5, protocol=name, queries=1) for name in ("original_code", "standard")}
    small = tasks["original_code"].bank
    small.count[0] = 3
    rules = tasks["original_code"].rules
    assert len(audit.drawn_by(rules, tasks).bank) == 6
    assert "row 100" not in audit.drawn_by(rules._replace(image_replacement=False), tasks).bank.names
