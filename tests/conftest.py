"""What all tests share."""

import gc
import os
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import pytest

from stochlwta_tf.training import build
from tests.helpers.counts import pytest_collection_modifyitems, pytest_terminal_summary  # noqa: F401  pytest calls them

# The fixtures import TensorFlow themselves: pytest's first process, which only deals out the tests, then starts without it.

# XLA reads its flags once in a process: a run inside a test then has the bits of one in a process of its own.
os.environ.setdefault("XLA_FLAGS", build.XLA_FLAGS)


def pytest_collection_finish():
    """What the imports have made stays: the garbage collector, which graphs start often, need not go through it each time."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def prepared():
    """`prepared("omniglot")`: the TensorFlow Datasets builder of data that is there; the test is skipped where it is not."""
    tfds = pytest.importorskip("tensorflow_datasets")

    def builder(name):
        made = tfds.builder(name)
        if not Path(made.data_dir, "dataset_info.json").exists():
            pytest.skip(f"{name} is not in {made.data_dir}; set TFDS_DATA_DIR to the folder that holds {name}/")
        return made

    return builder


@pytest.fixture
def float64():
    """Keras in double precision."""
    import keras

    floatx, policy = keras.config.floatx(), keras.config.dtype_policy()
    keras.config.set_floatx("float64")
    keras.config.set_dtype_policy("float64")
    yield
    keras.config.set_floatx(floatx)
    keras.config.set_dtype_policy(policy)


@pytest.fixture
def inject_noise(monkeypatch):
    """`inject_noise(array, ...)`: the arrays that `random.normal` and `random.uniform` (so `random.gumbel`) return next, in this order.

    Returns the list of those that are left.  It reaches eager calls only: a compiled function draws when it is traced.
    """
    import tensorflow as tf

    from stochlwta_tf import random

    queue = []

    def draw(key, shape):
        noise = queue.pop(0)
        assert tuple(noise.shape) == tuple(map(int, shape)), "the recorded noise has another shape than the noise asked for"
        return tf.convert_to_tensor(noise)

    def inject(*arrays):
        queue[:] = arrays
        return queue

    monkeypatch.setattr(random, "normal", draw)
    monkeypatch.setattr(random, "uniform", draw)
    return inject


@pytest.fixture
def bars(monkeypatch):
    """`Bars` as a task that a configuration may name."""
    from stochlwta_tf.tasks import TASKS
    from tests.helpers.bars import Bars

    monkeypatch.setitem(TASKS, "bars", Bars)


@pytest.fixture(scope="session")
def bars_run(tmp_path_factory):
    """A run under `original_code` whose outer step is too small to change its weights: all its evaluations are of one network."""
    from stochlwta_tf.config import configuration
    from stochlwta_tf.tasks import TASKS
    from stochlwta_tf.training import train as training
    from stochlwta_tf.training.run_folder import RunFolder
    from tests.helpers.bars import CONFIG, Bars

    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(TASKS, "bars", Bars)
        values = {**CONFIG, "task": {**CONFIG["task"], "protocol": "original_code"}, "optimizer": {"name": "sgd", "learning_rate": 1e-30}}
        config, folder = configuration.from_dict(values), RunFolder(tmp_path_factory.mktemp("runs") / "bars")
        training.train(config, folder)
    return folder
