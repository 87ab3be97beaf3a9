"""The trained models of the package: each loads by its name and does what its card says."""

import os

import numpy as np
import pytest

import stochlwta_tf
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import UserError
from stochlwta_tf.evaluation import evaluate
from stochlwta_tf.inference import card, models
from stochlwta_tf.training import build

NAMES = sorted(models())
_KEYS = {"title", "config", "command", "task", "protocol", "batch_statistics", "inner_steps", "test", "data", "limits", "licence"}


def test_there_are_models_and_each_has_a_card():
    assert {"omniglot_5w1s", "sinusoid"} <= set(NAMES)
    for name, path in models().items():
        assert card(name).keys() >= _KEYS, name
        assert path.stat().st_size < 3e6, name


# Of photographs, and of twenty classes at once, it takes longer.
_LONG = ("cifar", "mini", "omniglot_20w")


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n.startswith(_LONG) else n for n in NAMES])
def test_a_model_meets_its_card(name, prepared):
    known, learner = card(name), stochlwta_tf.load(name)
    config = configuration.load(known["config"], ["evaluation.batch=50"])
    assert {**config.resolved()["task"], **known["task"]} == config.resolved()["task"]
    if known["task"]["name"] in ("omniglot", "cifar100"):
        prepared(known["task"]["name"])
    if known["task"]["name"] == "miniimagenet" and not os.environ.get("MINIIMAGENET_DIR"):
        pytest.skip("mini-ImageNet is needed: set MINIIMAGENET_DIR to its folder")
    assert known["batch_statistics"] in (None, learner.batch_statistics) and learner.steps_at_test == known["inner_steps"]
    found, stated = evaluate(learner, build.tasks(config, "test"), 100)[known["test"]["measure"]], known["test"]
    # These tasks are the first hundred of the card's.
    assert abs(found.value - stated["value"]) < found.ci95 + stated["ci95"], (found, stated)


def test_pixels_of_another_scale_are_refused():
    learner = stochlwta_tf.load("omniglot_5w1s")
    for scale, values in ((255.0, "from 0 to 255"), (-1.0, "from -1 to -?0")):
        x = scale * np.linspace(0, 1, 2 * 784).reshape(2, 28, 28, 1)
        with pytest.raises(ValueError, match=f"`support_x` must have pixels from 0 to 1, as in training. Received: values {values}$"):
            learner.adapt_to(x, [0, 1])


def test_a_name_is_not_mistaken_for_a_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    learner = stochlwta_tf.load("sinusoid")
    x = np.linspace(-4, 4, 10, dtype="float32")[:, None]
    prediction = learner.adapt_to(x, np.sin(x)).predict(x)
    assert np.mean((prediction.mean - np.sin(x)) ** 2) < 0.5 * np.mean(np.sin(x) ** 2)
    (tmp_path / "sinusoid").mkdir()
    with pytest.raises(UserError, match="has no trained model"):
        stochlwta_tf.load("sinusoid")
