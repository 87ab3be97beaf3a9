"""The comparison with other libraries: the harness, on a small workload."""

import importlib
import json
import sys

import numpy as np
import pytest

from stochlwta_tf.config import configuration
from tests.helpers import REPOSITORY

BENCHMARKS = REPOSITORY / "benchmarks"


@pytest.fixture
def scripts(monkeypatch):
    """Imports a script of `benchmarks/`; they import each other."""
    monkeypatch.syspath_prepend(BENCHMARKS)
    yield importlib.import_module
    for name in [name for name, module in sys.modules.items() if str(BENCHMARKS) in str(getattr(module, "__file__", ""))]:
        del sys.modules[name]


@pytest.mark.slow
def test_the_published_way_does_the_same_work_and_absent_peers_are_named(scripts, tmp_path, capsys, monkeypatch):
    compare, file = scripts("compare"), tmp_path / "speed.json"
    keys = ("network.blocks=[2]", "learner.inner_steps=1", "training.meta_batch_size=2", "training.steps_per_execution=1")
    monkeypatch.setitem(compare.WORKLOADS, "tiny", scripts("workloads").Workload("tiny", "sinusoid_default", keys))
    options = ["--workloads", "tiny", "--quick", "--json", str(file), "--jax-python", str(tmp_path / "none")]
    assert compare.main(options) == 0
    ours, published = json.loads(file.read_text(encoding="utf-8"))
    assert (ours["peer"], ours["cpu_ratio"], published["peer"]) == ("stochlwta_tf", 1.0, "published code")
    assert 0 < published["difference"] < 1e-6  # two computations agree, to rounding
    assert min(published["cpu_ratio"], ours["peak_mib"], ours["compile_cpu_seconds"], ours["gflops_per_cpu_second"]) > 0
    output, errors = capsys.readouterr()
    assert f"| published code | {published['cpu_ms_per_task']:.3g} |" in output
    for peer, reason in (("jax", "No such file"), ("torch.func", "no --torch-python"), ("learn2learn", "no --torch-python")):
        assert any(line.startswith(f"{peer}: skipped:") and reason in line for line in errors.splitlines())


def test_other_work_is_an_error(scripts):
    compare = scripts("compare")
    expected = [np.array([1.0, -2.0]), np.zeros(2)]
    assert compare.difference("tiny", expected, [np.array([1.0, -2.0 - 1e-8]), np.zeros(2)], "jax") == pytest.approx(5e-9, rel=1e-3)
    with pytest.raises(compare.Failure, match="tiny: jax does other work: its result differs by 5.0e-05"):
        compare.difference("tiny", expected, [np.array([1.0, -2.0001]), np.zeros(2)], "jax")


def test_operations_are_those_of_matrix_products_counted_by_hand(scripts):
    workloads = scripts("workloads")
    config = configuration.load(REPOSITORY / "configs" / "sinusoid_default_maml.yaml", ["learner.inner_steps=1"]).resolved()
    spec = {"config": config, "input_shape": (1,), "outputs": 1, "predict": False, "support": 3, "queries": 2}
    # 1-40-40-1. An inner step: x W1, h1 W2, h2 W3; gradients x'd1, h1'd2, h2'd3, d2 W2', d3 W3'. Then all of it differentiated.
    first = 40 + 1600 + 40, 40 + 2 * 1600 + 2 * 40
    inner = sum(first)
    backward = 40 + 2 * 1600 + 2 * 40 + 40 + 2 * 2 * 1600 + 2 * 2 * 40
    assert workloads.task_flops(spec) == 2 * (3 * (inner + backward) + 2 * inner)


@pytest.mark.parametrize("name", ["omniglot_conv4_stochlwta", "miniimagenet_5w5s_stochlwta", "sinusoid_maml_predict"])
def test_the_sizes_of_a_workload_are_those_of_its_configuration(name, scripts):
    workloads = scripts("workloads")
    workload = workloads.WORKLOADS[name]
    config = configuration.load(REPOSITORY / "configs" / f"{workload.config}.yaml", workload.assignments).resolved()
    expected = {
        "omniglot_conv4_stochlwta": (16, 10, 0),
        "miniimagenet_5w5s_stochlwta": (8, 25, 0),
        "sinusoid_maml_predict": (1, 10, 100),
    }
    assert workloads.sizes(config, workload.predict) == expected[name]


def test_the_readme_shows_the_kept_results(scripts):
    readme = (BENCHMARKS / "README.md").read_text(encoding="utf-8")
    report, files = scripts("report"), sorted((BENCHMARKS / "results").glob("*.json"))
    for line in [*report.about(files), *report.table([e for file in files for e in report.read(file)])]:
        assert line in readme
    assert (BENCHMARKS / "results" / "ratios.svg").is_file()


def test_an_operation_takes_its_time_without_what_it_calls(scripts, tmp_path):
    xplane_pb2 = pytest.importorskip("tensorflow.tsl.profiler.protobuf.xplane_pb2")
    operations, space = scripts("operations"), xplane_pb2.XSpace()
    plane = space.planes.add()
    thread, other = plane.lines.add(), plane.lines.add()
    events = [
        (thread, "while:While", 0, 100),
        (thread, "a/mul:Mul", 10, 20),
        (thread, "mul:Mul", 40, 5),
        (thread, "Thread::Process", 50, 9),
    ]
    events += [(thread, "conv:_MklNativeConv2D", 200, 7), (other, "x:XlaLaunch", 0, 50), (other, "Executable::ExecuteAsyncOnStream", 5, 40)]
    for number, (line, name, start, duration) in enumerate(events):
        plane.event_metadata[number].name = name
        line.events.add(metadata_id=number, offset_ps=start, duration_ps=duration)
    (tmp_path / "trace.xplane.pb").write_bytes(space.SerializeToString())
    found = {kind: round(1e12 * seconds) for kind, seconds in operations.seconds_of_operations(tmp_path / "trace.xplane.pb").items()}
    assert found == {"While": 75, "Mul": 25, "Conv2D": 7, "XlaLaunch": 10, "XLA programs": 40}
