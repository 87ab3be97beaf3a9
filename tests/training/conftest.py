"""A finished run on a folder of pictures."""

import pytest
import yaml

from stochlwta_tf.cli import train
from tests.helpers.own_pictures import TINY, picture


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A folder with `data` of ten classes and a finished `run` on it."""
    root = tmp_path_factory.mktemp("finished")
    for c in range(10):
        for number in range(3):
            picture(root / "data", f"c{c}", c, number)
    (root / "own.yaml").write_text(yaml.safe_dump(TINY))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOCHLWTA_CACHE", str(root / "cache"))
        patch.chdir(root)
        options = ["--config", "own.yaml", "--set", "task.data_dir=data", "--out", "run"]
        assert train.main(options) == 0
    return root
