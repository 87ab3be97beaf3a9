"""Every learner with every kind of network, units and task."""

import keras
import numpy as np
import pytest

from stochlwta_tf import networks
from stochlwta_tf.learners import LEARNERS
from tests.helpers.small_learners import bits_of
from tests.helpers.small_tasks import image_tasks, one

NETWORKS = {"dense_lwta": {"blocks": (2,), "weights": "point"}, "mlp": {"units": (4,)}, "conv4": {"filters": 4}}
UNITS = {"dense_lwta": "relu", "mlp": "tanh", "conv4": "relu"}
QUICK = [
    ("stochlwta", "gaussian", "dense_lwta", "stochastic_lwta"),
    ("maml", "gaussian", "conv4", "stochastic_lwta"),
    ("bmaml", "categorical", "mlp", "deterministic_lwta"),
    ("platipus", "categorical", "dense_lwta", "deterministic_lwta"),
]
ALL = [
    (name, likelihood, network, units)
    for name in LEARNERS
    for likelihood in ("categorical", "gaussian")
    for network in NETWORKS
    for units in ("plain", "deterministic_lwta", "stochastic_lwta")
]


@pytest.mark.parametrize(
    ("name", "likelihood", "network", "units"),
    [pytest.param(*case, marks=() if case in QUICK else pytest.mark.slow, id="-".join(case)) for case in ALL],
)
def test_every_learner_runs_saves_and_reloads_with_every_network(name, likelihood, network, units, tmp_path):
    keras.utils.set_random_seed(0)
    regression = likelihood == "gaussian"
    options = {**NETWORKS[network], "activation": UNITS[network] if units == "plain" else units}
    if name == "stochlwta":
        options["weights"] = "gaussian"
    built = networks.NETWORKS[network]((8, 8, 1), 1 if regression else 3, **options)
    learner = LEARNERS[name](built, likelihood=likelihood, inner_steps=2, draws=10 if name == "bmaml" else 2)
    task = one(image_tasks("float32", regression=regression), 0)
    before = bits_of(built)
    psi, state = learner.current_values()
    gradient, (loss, _) = learner.task_update(psi, state, task)
    draws = learner.task_predict(psi, state, task)
    assert np.isfinite(loss) and all(np.isfinite(g).all() for g in gradient)
    assert [g.shape for g in gradient] == [v.shape for v in learner.trainable_variables]
    assert any(np.any(g) for g in gradient)
    assert draws.shape == (learner.draws, 6, 1 if regression else 3) and np.isfinite(draws).all()
    assert bits_of(built) == before
    times = {"abml": 2, "bmaml": 5, "platipus": 5}.get(name, 1)
    assert networks.trainable_parameters(learner) == times * networks.trainable_parameters(built)
    learner.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.task_predict(*again.current_values(), task), draws)
