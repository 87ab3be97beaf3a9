"""Learners, networks and tasks from other modules."""

import sys
from types import SimpleNamespace

import pytest

from stochlwta_tf.config import configuration, plugins
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.learners import LEARNERS, MAML
from tests.config.test_configuration import SINUSOID, changed

PLUGIN = """
from typing import Annotated
import keras
from pydantic import Field
from stochlwta_tf.learners import LEARNERS, MAML

@LEARNERS.register("my_maml")
@keras.saving.register_keras_serializable(package="mine")
class MyMAML(MAML):
    def __init__(self, network, *, head: Annotated[int, Field(ge=1)] = 3, **options):
        super().__init__(network, **options)
        self.head = head
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    """A module in the working directory, which is not on the path."""
    (tmp_path / "methods_of_a_test.py").write_text(PLUGIN)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [place for place in sys.path if place])
    yield "methods_of_a_test"
    sys.modules.pop("methods_of_a_test", None)
    LEARNERS.pop("my_maml", None)


def test_a_learner_of_another_module_is_checked_as_ours_are(module):
    values = {**changed(), "import": [module], "learner": {"name": "my_maml", "head": 2}}
    config = configuration.from_dict(values)
    assert config.learner.head == 2 and next(iter(config.resolved().items())) == ("import", ["methods_of_a_test"])
    assert configuration.from_dict(config.resolved()) == config
    assert configuration.from_dict({**values, "import": module}).modules == ("methods_of_a_test",)
    with pytest.raises(ConfigurationError, match="learner.head must be greater than or equal to 1"):
        configuration.from_dict({**values, "learner": {"name": "my_maml", "head": 0}})


def test_without_import_nothing_is_added():
    assert "import" not in configuration.from_dict(SINUSOID).resolved()
    with pytest.raises(ConfigurationError, match="unknown key modules. .*Allowed: import, name"):
        configuration.from_dict({**SINUSOID, "modules": []})


@pytest.mark.parametrize(
    ("modules", "message"),
    [
        ([3], r"import must be a list of modules.*Received: import=\[3\]."),
        (
            ["no_such_module"],
            "x.yaml: import: cannot import no_such_module, which is looked for in the working directory and on Python's path:"
            " ModuleNotFoundError: No module named 'no_such_module'.",
        ),
        (["broken"], "cannot import broken: ZeroDivisionError: division by zero."),
        (
            ["taken"],
            "cannot import taken: ValueError: The learner 'maml' exists: .*maml.MAML. Received: builtins.dict.",
        ),
    ],
)
def test_what_cannot_be_imported_is_one_line(module, tmp_path, modules, message):
    (tmp_path / "broken.py").write_text("1 / 0")
    (tmp_path / "taken.py").write_text("from stochlwta_tf.learners import LEARNERS\nLEARNERS['maml'] = dict")
    with pytest.raises(ConfigurationError, match=message):
        configuration.from_dict({**SINUSOID, "import": modules}, where="x.yaml")
    assert LEARNERS["maml"] is MAML


def test_installed_packages_announce_themselves(module, monkeypatch):
    point = SimpleNamespace(name="mine", module=module, dist=SimpleNamespace(name="my-package"))
    monkeypatch.setattr(plugins.metadata, "entry_points", lambda group: [point] if group == "stochlwta_tf.plugins" else [])
    monkeypatch.syspath_prepend(".")
    plugins._installed.cache_clear()
    assert configuration.from_dict({**changed(), "learner": {"name": "my_maml"}}).learner.head == 3
    plugins._installed.cache_clear()
