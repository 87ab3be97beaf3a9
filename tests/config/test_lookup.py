"""Where configurations and suites are found by name."""

import pytest

from stochlwta_tf.config import configuration, lookup, suites
from stochlwta_tf.errors import ConfigurationError


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize("name", ["sinusoid_default", "sinusoid_default.yaml", "configs/sinusoid_default.yaml", "configs/sinusoid_default"])
def test_a_name_is_found_in_the_package_from_any_folder(name, elsewhere):
    assert lookup.find(name) == lookup.PACKAGED / "sinusoid_default.yaml"
    assert configuration.load(name).name == "sinusoid_default"


def test_the_working_directory_comes_first(elsewhere):
    (elsewhere / "configs/suites").mkdir(parents=True)
    own = elsewhere / "configs/sinusoid_default.yaml"
    own.write_text("name: mine")
    assert lookup.find("sinusoid_default").resolve() == own
    (elsewhere / "configs/suites/table5.yaml").write_text("mine")
    assert str(lookup.suites()["table5"]) == "configs/suites/table5.yaml"
    assert lookup.suites()["table4"] == lookup.PACKAGED / "suites/table4.yaml"
    (elsewhere / "sinusoid_default.yaml").write_text("name: nearer")
    assert str(lookup.find("sinusoid_default.yaml")) == "sinusoid_default.yaml"


@pytest.mark.parametrize("path", ["runs/a/config.yaml", "/nowhere/sinusoid_default.yaml", "../configs/sinusoid_default.yaml"])
def test_a_path_is_that_file_and_no_other(path, elsewhere):
    assert str(lookup.find(path)) == path
    with pytest.raises(ConfigurationError, match="cannot read the configuration: No such file"):
        configuration.load(path)


def test_an_unknown_suite_names_the_folders_searched(elsewhere):
    with pytest.raises(ConfigurationError) as error:
        suites.load("nope")
    assert str(error.value).endswith(f"Searched: {lookup.PACKAGED / 'suites'}.")
