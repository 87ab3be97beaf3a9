"""What may be named, and its options."""

import pytest

from stochlwta_tf.cli import evaluate, listing, predict, train
from stochlwta_tf.config import lookup
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.inference import models
from stochlwta_tf.learners import LEARNERS
from stochlwta_tf.networks import NETWORKS
from stochlwta_tf.tasks import TASKS


def test_everything_that_may_be_named_has_a_line(capsys):
    assert train.main(["--list"]) == 0
    lines = capsys.readouterr().out.splitlines()
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    recommended = (f"recommended/{path.stem}" for path in lookup.PACKAGED.glob("recommended/*.yaml"))
    configurations = sorted([*(path.stem for path in lookup.PACKAGED.glob("*.yaml")), *recommended])
    assert listed == [*TASKS, *NETWORKS, *LEARNERS, *lookup.suites(), *configurations, *models()]
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_the_options_of_one_with_their_defaults():
    lines = listing.text("fomaml").splitlines()
    assert lines[0].startswith("learner.name: fomaml: ")
    steps = lines.index("  learner.inner_steps: integer ≥ 0; 5 by default")
    assert lines[steps + 1] == "      Number of inner steps in training."  # of a base class's docstring
    assert "  learner.order: integer from 1 to 1; 1 by default" in lines
    assert "  learner.draws: integer ≥ 1, or null; null by default" in lines


@pytest.mark.parametrize("name", [*TASKS, *NETWORKS, *LEARNERS])
def test_every_option_has_a_meaning(name):
    lines = listing.text(name).splitlines()
    options = [number for number, line in enumerate(lines) if line.startswith("  ") and not line.startswith("      ")]
    assert [lines[number] for number in options if not lines[number + 1 : number + 2] or number + 1 in options] == []


def test_what_a_configuration_imports_is_listed_too(tmp_path, monkeypatch, capsys):
    module = "from stochlwta_tf.learners import LEARNERS, MAML\n@LEARNERS.register('listed')\nclass Listed(MAML):\n    'One more.'\n"
    (tmp_path / "listed_in_a_test.py").write_text(module)
    (tmp_path / "mine.yaml").write_text(f"import: [listed_in_a_test]\nextends: {lookup.PACKAGED}/sinusoid_default.yaml\nname: mine\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    assert train.main(["--list", "--config", "mine.yaml"]) == 0
    LEARNERS.pop("listed")
    assert ["listed", "One", "more."] in [line.split() for line in capsys.readouterr().out.splitlines()]


def test_an_unknown_name_is_one_line():
    with pytest.raises(ConfigurationError, match="--list: unknown name mmal. Did you mean 'maml'. Allowed: sinusoid, "):
        listing.text("mmal")


@pytest.mark.parametrize("command", [train, evaluate, predict])
def test_the_version(command, capsys):
    with pytest.raises(SystemExit) as raised:
        command.main(["--version"])
    assert raised.value.code == 0 and capsys.readouterr().out == "stochlwta-tf 0.1.0\n"
