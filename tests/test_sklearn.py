"""The estimators: scikit-learn's own checks, its tools on them, and the learner behind them."""

import keras
import numpy as np
import pytest
import tensorflow as tf

pytest.importorskip("sklearn")

from sklearn.base import clone
from sklearn.calibration import CalibrationDisplay
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from stochlwta_tf import networks
from stochlwta_tf.learners import FOMAML, StochLWTA
from stochlwta_tf.sklearn import FewShotClassifier, FewShotRegressor
from tests.helpers.coloured_pictures import colour_learner, save


def classifier(shape, classes):
    return FOMAML(networks.mlp(shape or (1,), classes, units=(16,)), inner_lr=0.3, inner_steps=30, runner="loop")


def regressor(shape, outputs):
    return FOMAML(networks.mlp(shape or (1,), outputs, units=(16,)), likelihood="gaussian", inner_lr=0.05, inner_steps=30, runner="loop")


@pytest.fixture
def eager():
    """The checks fit hundreds of tiny learners, each of which would be compiled."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


@pytest.mark.slow
@parametrize_with_checks([FewShotClassifier(classifier), FewShotRegressor(regressor)])
def test_scikit_learns_checks(estimator, check, eager):
    check(estimator)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.keras"
    colour_learner().save(path)
    return path


def test_files_and_any_labels(model, tmp_path):
    support, query = save(tmp_path / "support", 2), save(tmp_path / "query", 2, first=5)
    labels = [{"red": 10, "green": -1, "blue": 7, "yellow": 3, "grey": 99}[file.parent.name] for file in support]
    estimator = FewShotClassifier.load(model).fit(support, labels)
    assert estimator.classes_.tolist() == [-1, 3, 7, 10, 99]
    expected = [labels[[file.parent.name for file in support].index(file.parent.name)] for file in query]
    assert estimator.predict(query).tolist() == expected and estimator.score(query, expected) == 1
    np.testing.assert_allclose(estimator.predict_proba(query).sum(1), 1)
    assert estimator.prediction(query).entropy.shape == (10,)
    flat = FewShotClassifier.load(model, temperature=1e6).fit(support, labels)
    np.testing.assert_allclose(flat.predict_proba(query), 0.2, atol=1e-4)


def test_pixels_and_rows_are_the_same_pictures(model):
    x = np.random.default_rng(0).integers(0, 256, (6, 8, 8, 3), "uint8")
    y = list("abcabc")
    of_pixels, of_floats = FewShotClassifier.load(model).fit(x, y), FewShotClassifier.load(model).fit(x.reshape(6, -1) / 255, y)
    np.testing.assert_allclose(of_pixels.predict_proba(x), of_floats.predict_proba(x.reshape(6, -1) / 255), atol=1e-6)
    expected = colour_learner().adapt_to((x / 255).astype("float32"), y).predict((x / 255).astype("float32"))
    np.testing.assert_allclose(of_pixels.predict_proba(x), expected.probabilities, atol=1e-5)


def test_tools_of_scikit_learn(model):
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(c, 0.3, (15, 192)) for c in (-1, 1)])
    y = np.repeat(["low", "high"], 15)
    estimator = FewShotClassifier.load(model)
    assert cross_val_score(estimator, x, y, cv=3).mean() == 1
    pipeline = make_pipeline(StandardScaler(), clone(estimator)).fit(x, y)
    assert pipeline.score(x, y) == 1
    shown = CalibrationDisplay.from_estimator(pipeline, x, y, n_bins=2)
    assert shown.prob_true.tolist() == [0, 1]


def test_regression_has_standard_deviations():
    keras.utils.set_random_seed(0)
    learner = StochLWTA(networks.dense_lwta((1,), 1, blocks=(4,)), likelihood="gaussian", inner_steps=3, noise_std=0.5, draws=9)
    x = np.linspace(-1, 1, 8)[:, None]
    mean, std = FewShotRegressor(learner, seed=3).fit(x, np.sin(x[:, 0])).predict(x, return_std=True)
    expected = learner.adapt_to(x, np.sin(x), seed=3).predict(x)
    np.testing.assert_allclose(mean, expected.mean[:, 0])
    np.testing.assert_allclose(std, np.sqrt(expected.draws.var(0) + 0.25)[:, 0], rtol=1e-6)
    assert FewShotRegressor(learner).fit(x, np.sin(x)).predict(x).shape == (8, 1)


def test_what_is_wrong_is_said(model):
    with pytest.raises(ValueError, match="`model` is missing: FewShotClassifier.load"):
        FewShotClassifier().fit([[0.0], [1.0]], [0, 1])
    with pytest.raises(ValueError, match="at most|from 0 to 4"):
        FewShotClassifier.load(model).fit(np.zeros((6, 192)), list("abcdef"))
    with pytest.raises(ValueError, match="inconsistent numbers of samples: \\[3, 2\\]"):
        FewShotClassifier.load(model).fit(np.zeros((3, 192)), ["a", "b"])
