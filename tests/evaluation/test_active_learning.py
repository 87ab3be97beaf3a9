"""Active learning: what is asked, in which order, and what the intervals are."""

import json

import numpy as np
import pytest
import tensorflow as tf

from stochlwta_tf import networks, objectives
from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import configuration
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.evaluation import acquisition, active_learning
from stochlwta_tf.figures import active as active_figure
from stochlwta_tf.learners import LEARNERS
from stochlwta_tf.tasks import Task
from stochlwta_tf.training import build
from tests.helpers.untrained_runs import untrained

TINY = {
    "name": "tiny",
    "task": {"name": "sinusoid", "setting": "challenging", "train_queries": 0, "queries": 7},
    "network": {"name": "mlp", "units": [2], "weights": "gaussian"},
    "learner": {"name": "stochlwta", "inner_steps": 1, "inner_clip_norm": 1},
    "optimizer": {"name": "sgd", "learning_rate": 0.1},
    "training": {"iterations": 100, "meta_batch_size": 4},
    "evaluation": {"tasks": 5, "batch": 3},
    "active_learning": {"queries": 1, "pool": 6},
}


class Known:
    """Predicts two draws, −x and x, whatever it has seen: the variance at x is x²; remembers its support sets."""

    likelihood = objectives.Gaussian()

    def __init__(self):
        self.seen = []

    def predict_tasks(self, tasks):
        self.seen.append(tasks.support_x.numpy()[..., 0])
        return tf.stack([-tasks.query_x, tasks.query_x], 1)

    def predictive(self, draws):
        return tf.reduce_mean(draws, 1)


def two_tasks():
    x = tf.constant([[0.5, 1.0, -4.0, 3.0, 2.0], [9.0, 1.0, 2.0, -3.0, 5.0]])[..., None]
    return Task(x, 10 * x, tf.ones((2, 1, 1)), tf.ones((2, 1, 1)), tf.zeros((2, 2), tf.uint32))


def test_the_point_of_largest_variance_is_asked_each_once():
    score = active_learning.model_score(Known(), acquisition.variance)
    mse, order = active_learning.learn(Known(), two_tasks(), np.array([0]), np.arange(1, 5), 4, score, active_learning.squared_error)
    np.testing.assert_array_equal(order, [[0, 2, 3, 4, 1], [0, 4, 3, 2, 1]])
    np.testing.assert_array_equal(mse, np.ones((2, 5)))  # the mean is 0 and the target 1


def test_each_query_begins_anew_with_all_that_is_labelled():
    learner = Known()
    score = active_learning.noise_score(np.array([[0.1, 0.4, 0.3, 0.2], [0.9, 0.4, 0.3, 0.2]]))
    active_learning.learn(learner, two_tasks(), np.array([0]), np.arange(1, 5), 2, score, active_learning.squared_error)
    assert [seen.shape for seen in learner.seen] == [(2, 1), (2, 2), (2, 3)]
    np.testing.assert_array_equal(learner.seen[-1], [[0.5, -4, 3], [9, 1, 2]])


def test_the_scores_are_the_formulas():
    rng = np.random.default_rng(0)
    draws, p = rng.normal(size=(2, 4, 3, 2)), rng.dirichlet(np.ones(3), (2, 5))
    np.testing.assert_allclose(acquisition.variance(draws, None), draws.var(1)[..., 0] + draws.var(1)[..., 1])
    np.testing.assert_allclose(acquisition.entropy(None, p), -(p * np.log(p)).sum(-1))
    assert acquisition.entropy(None, np.array([[[1.0, 0.0]]])) == 0


def test_the_rank_correlation_is_spearmans():
    stats = pytest.importorskip("scipy.stats")
    a, b = np.random.default_rng(2).normal(size=(2, 6, 11))
    for x, y in ((a, b), (np.round(a), np.round(b))):  # without and with ties
        np.testing.assert_allclose(acquisition.rank_correlation(x, y), [stats.spearmanr(*pair).statistic for pair in zip(x, y)])
    assert acquisition.rank_correlation(np.ones((1, 3)), b[:1, :3]) == 0


def test_the_paired_interval_is_that_of_the_differences():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(2, 50, 3))
    found, d = active_learning.curve(a - b), a - b
    np.testing.assert_allclose(found["value"], d.mean(0))
    np.testing.assert_allclose(found["median"], np.median(d, 0))
    np.testing.assert_allclose(found["ci95"], 2.009575 * d.std(0, ddof=1) / np.sqrt(50), rtol=1e-6)


def test_a_diverged_task_is_counted_and_does_not_move_the_median():
    values = np.array([[1.0, 1.0], [2.0, np.nan], [3.0, 3.0], [4.0, 4.0], [5.0, np.nan]])
    found = active_learning.curve(values, np.inf)
    assert (found["diverged"], found["median"]) == ([0, 2], [3.0, 4.0])
    assert found["value"] == pytest.approx([3.0, 8 / 3])
    assert active_learning.curve(values)["median"] == [3.0, 3.0]  # of differences it is left out


def test_random_choice_is_the_same_in_batches_of_any_size():
    labelled = []
    for batch in (1, 3):
        config, learner = configuration.from_dict({**TINY, "evaluation": {**TINY["evaluation"], "batch": batch}}), Known()
        active_learning.run(learner, *active_learning.candidates(config), "random", config)
        labelled.append(np.concatenate([x for x in learner.seen if x.shape[1] == 6])[:5])  # after a query to the five of the start
    np.testing.assert_array_equal(*labelled)


def test_a_curve_leaves_out_what_diverges():
    """One of five tasks predicts 10⁵ after its query."""
    config = configuration.from_dict(TINY)
    distribution, labelled, pool = active_learning.candidates(config)

    class Wild(Known):
        def predict_tasks(self, tasks):
            wild = tf.reshape(tf.where(tf.range(len(tasks.key)) == 1, 1e5 if tasks.support_x.shape[1] > 5 else 0.0, 0.0), (-1, 1, 1))
            return tf.stack([tasks.query_x * 0 + wild] * 2, 1)

    values = active_learning.run(Wild(), distribution, labelled, pool, "random", config)
    assert np.isnan(values).tolist() == [[False, i in (1, 4)] for i in range(5)]  # batches of three tasks
    drawn = active_figure.ends(active_learning.curve(values, np.inf), median=True)
    assert 0 <= drawn[1][1] <= drawn[0][1] < 100


def test_a_drawn_interval_does_not_leave_what_the_measure_can_be():
    curve = {"value": [98.0, 1.0], "ci95": [5.0, 5.0]}
    assert active_figure.ends(curve, False, 0, 100) == ([98.0, 1.0], [93.0, 0], [100, 6.0])
    assert active_figure.ends(curve, False) == ([98.0, 1.0], (93.0, -4.0), (103.0, 6.0))  # of a difference


def test_regression_candidates_are_points_of_the_tasks_with_the_noise_of_the_support():
    config = configuration.from_dict({**TINY, "active_learning": {"start": 4, "pool": 6}})
    distribution, labelled, pool = active_learning.candidates(config)
    assert (labelled.tolist(), pool.tolist()) == ([0, 1, 2, 3], [4, 5, 6, 7, 8, 9])
    tasks = distribution.sample(0)
    assert tasks.support_x.shape == (3, 10, 1) and tasks.query_x.shape == (3, 7, 1)
    quiet = build.tasks(configuration.from_dict({**TINY, "task": {**TINY["task"], "shot": 10}}), "test").sample(0)
    np.testing.assert_array_equal(tasks.support_y, quiet.support_y)  # drawn as any support set of that size


def test_classification_candidates_are_so_many_of_each_class():
    values = {**TINY, "task": {"name": "glyphs", "way": 3, "shot": 2, "queries": 5}, "active_learning": {"pool": 12}}
    distribution, labelled, pool = active_learning.candidates(configuration.from_dict(values))
    y = distribution.sample(0).support_y.numpy()[0]
    assert np.bincount(y[labelled]).tolist() == [2, 2, 2] and np.bincount(y[pool]).tolist() == [4, 4, 4]
    assert distribution.sample(0).query_x.shape[1] == 15


@pytest.mark.parametrize(
    ("sections", "message"),
    [
        ({"active_learning": {"queries": 7, "pool": 6}}, "active_learning.queries must be at most active_learning.pool=6. Received: 7."),
        (
            {"task": {"name": "glyphs", "way": 3}, "active_learning": {"pool": 100}},
            "active_learning.pool must be a multiple of task.way=3. Received: 100.",
        ),
    ],
)
def test_impossible_pools_are_one_line(sections, message):
    with pytest.raises(ConfigurationError) as error:
        active_learning.candidates(configuration.from_dict({**TINY, **sections}))
    assert str(error.value) == message


def test_strategies_suit_the_tasks_and_the_learner():
    point, lwta = networks.mlp((1,), 1, units=(2,)), networks.dense_lwta((1,), 1, blocks=(2,), weights="point")
    plain, stochastic = (LEARNERS["maml"](network, likelihood="gaussian", draws=4) for network in (point, lwta))
    assert acquisition.strategies("auto", plain) == ["random"]
    assert acquisition.strategies("auto", stochastic) == ["variance", "random"]
    assert acquisition.strategies("auto", LEARNERS["platipus"](point)) == ["entropy", "random"]
    assert acquisition.strategies("random", stochastic) == ["random"]
    with pytest.raises(ConfigurationError, match="strategy=variance needs a learner whose draws differ: .* Received: a MAML with 4 draws."):
        acquisition.strategies("variance", plain)
    with pytest.raises(
        ConfigurationError, match="must be auto, variance or random for a gaussian likelihood. Received: active_learning.strategy=entr"
    ):
        acquisition.strategies("entropy", stochastic)


def test_a_run_is_tested_by_the_command(tmp_path, capsys):
    # Two cores have shards of one size, and candidates are as many as queries: fewer programs are compiled.
    config = {**TINY, "evaluation": {"tasks": 5, "batch": 4}, "active_learning": {"queries": 1, "pool": 7}}
    folder = untrained(config, tmp_path / "run")
    assert evaluate.main(["--run", str(folder.path), "--active"]) == 0
    result = json.loads((folder.path / "active.json").read_text())
    assert result["labelled"] == [5, 6] and list(result["strategies"]) == ["variance", "random"] and result["tasks"] == 5
    informed, chance, difference = (*result["strategies"].values(), result["variance - random"])
    assert informed["value"][0] == chance["value"][0] and difference["value"][0] == difference["ci95"][0] == 0  # the same first points
    assert -1 <= result["rank_correlation"]["value"] <= 1 and result["rank_correlation"]["of"].startswith("variance and error")
    assert difference["value"][1] == pytest.approx(informed["value"][1] - chance["value"][1])
    assert (folder.path / "active.png").read_bytes().startswith(b"\x89PNG")
    assert "variance - random" in capsys.readouterr().out
