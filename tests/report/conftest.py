"""What the tests of reports share."""

import pytest

from tests.helpers import result_folders


@pytest.fixture
def runs(tmp_path):
    result_folders.three_seeds(tmp_path)
    return tmp_path
