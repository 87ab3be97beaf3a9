"""Learning curves: what is read from runs, and how it is grouped."""

import numpy as np
import pytest
import yaml

from stochlwta_tf.errors import UserError
from stochlwta_tf.report import learning_curves

NETWORK = {"name": "dense_lwta", "activation": "stochastic_lwta", "weights": "gaussian", "competitors": 2}


def run(folder, name="sinusoid_default", learner="stochlwta", rows=((100, ""), (200, 2.0), (300, ""), (400, 1.0))):
    folder.mkdir()
    values = {"name": name, "task": {"name": "sinusoid", "setting": "default"}, "network": NETWORK, "learner": {"name": learner}}
    (folder / "config.yaml").write_text(yaml.safe_dump(values))
    lines = ["iteration,seconds,loss,val_mse", *(f"{iteration},1.0,3.0,{value}" for iteration, value in rows)]
    (folder / "metrics.csv").write_text("\n".join(lines) + "\n")
    return folder


def test_runs_of_one_configuration_are_averaged_where_all_were_validated(tmp_path):
    one = run(tmp_path / "one")
    other = run(tmp_path / "other", rows=((200, 4.0), (400, 1.5), (600, 0.1)))
    (label, curve), *rest = learning_curves.curves([one, other]).items()
    assert (label, curve.runs, rest) == ("StochLWTA-ML", 2, [])
    np.testing.assert_array_equal(curve.iterations, [200, 400])
    np.testing.assert_array_equal([curve.mean, curve.low, curve.high], [[3, 1.25], [2, 1], [4, 1.5]])
    assert curve.reported == (0.88, "figure 4a")


def test_configurations_of_one_method_have_their_own_names(tmp_path):
    runs = [run(tmp_path / "a", "a"), run(tmp_path / "b", "b"), run(tmp_path / "c", "c", "maml")]
    assert list(learning_curves.curves(runs)) == ["a", "b", "MAML"]


def test_the_command_writes_both_kinds_of_picture(tmp_path):
    run(tmp_path / "a")
    assert learning_curves.main([str(tmp_path / "a"), "--out", str(tmp_path / "curves.png"), "--title", "default"]) == 0
    assert (tmp_path / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert "<svg" in (tmp_path / "curves.svg").read_text()


def test_what_is_wrong_is_said(tmp_path, capsys):
    with pytest.raises(UserError, match="is not a run"):
        learning_curves.curves([tmp_path])
    with pytest.raises(UserError, match="has no val_mse: train with training.validate_every above 0"):
        learning_curves.curves([run(tmp_path / "a", rows=((100, ""),))])
    with pytest.raises(UserError, match="the 2 runs of x were validated at no common iteration"):
        learning_curves.curves([run(tmp_path / "b", "x", rows=((100, 1.0),)), run(tmp_path / "c", "x", rows=((200, 1.0),))])
    with pytest.raises(UserError, match="is no other seed of x, which has learner.name=stochlwta. Received: learner.name=maml"):
        learning_curves.curves([tmp_path / "b", run(tmp_path / "d", "x", "maml")])
    assert learning_curves.main([str(tmp_path / "none"), "--out", str(tmp_path / "x.png")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
