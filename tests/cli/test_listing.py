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
    configurations = sorted(path.stem for path in lookup.PACKAGED.glob("*.yaml"))
    assert listed == [*TASKS, *NETWORKS, *LEARNERS, *lookup.suites(), *configurations, *models()]
    assert all(len(line.split(maxsplit=1)) == 2 for line in lines)


def test_the_options_of_one_with_their_defaults():
    lines = listing.text("maml").splitlines()
    assert lines[0].startswith("learner.name: maml: ")
    (steps,) = [line for line in lines if line.split()[0] == "learner.inner_steps"]
    assert steps.split()[1:] == ["5", "integer", "≥", "0"]
    (draws,) = [line for line in lines if line.split()[0] == "learner.draws"]
    assert draws.endswith(" integer ≥ 1, or null")


def test_an_unknown_name_is_one_line():
    with pytest.raises(ConfigurationError, match="--list: unknown name mmal. Did you mean 'maml'. Allowed: sinusoid, "):
        listing.text("mmal")


@pytest.mark.parametrize("command", [train, evaluate, predict])
def test_the_version(command, capsys):
    with pytest.raises(SystemExit) as raised:
        command.main(["--version"])
    assert raised.value.code == 0 and capsys.readouterr().out == "stochlwta-tf 0.1.0\n"
