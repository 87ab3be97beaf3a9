"""docs/extending.md: its method is what it says, and a configuration trains it."""

import sys

import keras
import numpy as np
import pytest
from keras.src.saving.object_registration import GLOBAL_CUSTOM_NAMES

import stochlwta_tf
from stochlwta_tf import networks
from stochlwta_tf.cli import train
from stochlwta_tf.errors import UserError
from stochlwta_tf.learners import LEARNERS
from tests.helpers import REPOSITORY
from tests.helpers.documents import blocks
from tests.helpers.small_tasks import one, point_tasks


@pytest.fixture
def document(tmp_path, monkeypatch):
    """The document's module and configuration, in the working directory."""
    for language, name in (("python", "my_methods.py"), ("yaml", "anil.yaml")):
        ((_, block),) = blocks("docs/extending.md", language)
        (tmp_path / name).write_text(block)
    (tmp_path / "configs").symlink_to(REPOSITORY / "configs")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("my_methods", None)
    LEARNERS.pop("anil", None)


def test_only_the_head_is_adapted_and_the_rest_is_meta_trained(document):
    assert train.main(["--config", "anil.yaml", "--show"]) == 0
    keras.utils.set_random_seed(0)
    learner = LEARNERS["anil"](networks.mlp((1,), 1, units=(4,)), likelihood="gaussian", inner_steps=2, runner="loop")
    task = one(point_tasks(), 0)
    psi, state = learner.current_values()
    adapted, _ = learner.adapt(psi, state, task.support_x, task.support_y, task.key)
    changed = [not np.array_equal(a, b) for a, b in zip(adapted, psi, strict=True)]
    head = {v.path for v in learner.network.get_layer("output").trainable_variables}
    assert changed == [v.path in head for v in learner.network.trainable_variables] and any(changed)
    learner.save(document / "model.keras")
    assert keras.saving.load_model(document / "model.keras").head == "output"
    gradient, _ = learner.task_update(psi, state, task)
    assert all(np.abs(g).sum() > 0 for g in gradient)


def test_a_run_imports_the_module_of_its_learner(document):
    from my_methods import ANIL

    (document / "run").mkdir()
    ANIL(networks.mlp((1,), 1, units=(4,)), likelihood="gaussian").save(document / "run" / "model.keras")
    (document / "run" / "config.yaml").write_text("import: [my_methods]\n")
    del sys.modules["my_methods"], LEARNERS["anil"]  # as in a process that has not imported it
    for names in (keras.saving.get_custom_objects(), GLOBAL_CUSTOM_NAMES):
        for key in [key for key, value in names.items() if ANIL in (key, value)]:
            del names[key]
    with pytest.raises(UserError, match="has the class ANIL, which nothing has registered: import its module first, or give the folder"):
        stochlwta_tf.load("run/model.keras")
    assert stochlwta_tf.load("run").head == "output"
