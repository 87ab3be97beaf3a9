"""What the processor time of a workload's training is spent on: the kinds of operations of the compiled function.

    python benchmarks/operations.py omniglot_conv4_maml sinusoid_maml

Tasks are computed one after another, a vectorized batch as one. Shares are of the processor time of the process while it is traced; what
is in no operation is TensorFlow's own work between them, and that of the tracing.
"""

import argparse
import collections
import os
import pathlib
import re
import sys
import tempfile
import time

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
import peers.package as package
import tensorflow as tf
from workloads import WORKLOADS

SECONDS = 1.0  # of processor time that are traced
ONE_AFTER_ANOTHER = ("runtime.intra_op_threads=1", "runtime.inter_op_threads=1", "learner.parallel_tasks=1")


def traced(workload):
    """Processor time of a task in milliseconds, and the share of it that each kind of operation takes, the largest first."""
    work = WORKLOADS[workload]
    spec, data = package.prepare(work.config, [*work.assignments, *ONE_AFTER_ANOTHER], work.predict)
    contestant = package.Contestant(spec, {k: v if v.dtype.kind != "f" else v.astype("float32") for k, v in data.items()}, {})
    contestant.run(contestant.multiple)
    start = time.process_time()
    contestant.run(contestant.multiple)
    calls = max(1, round(SECONDS / (time.process_time() - start)))
    with tempfile.TemporaryDirectory() as folder:
        tf.profiler.experimental.start(folder)
        start = time.process_time()
        contestant.run(calls * contestant.multiple)
        spent = time.process_time() - start
        tf.profiler.experimental.stop()
        kinds = seconds_of_operations(next(pathlib.Path(folder).rglob("*.xplane.pb")))
    shares = {kind: seconds / spent for kind, seconds in kinds.most_common()}
    return 1000 * spent / (calls * contestant.multiple * spec["tasks"]), shares


def seconds_of_operations(file):
    """Seconds of each kind of operation in a trace, without those that it calls, as a Counter."""
    from tensorflow.tsl.profiler.protobuf import xplane_pb2

    space, seconds = xplane_pb2.XSpace(), collections.Counter()
    space.ParseFromString(file.read_bytes())
    for plane in space.planes:
        names = {key: value.name for key, value in plane.event_metadata.items()}
        for line in plane.lines:
            open_until = []  # ends and kinds of the operations that contain the next
            for event in sorted(line.events, key=lambda e: (e.offset_ps, -e.duration_ps)):
                kind = kind_of(names[event.metadata_id])
                if kind is None:
                    continue
                while open_until and open_until[-1][0] <= event.offset_ps:
                    open_until.pop()
                if open_until:
                    seconds[open_until[-1][1]] -= event.duration_ps / 1e12
                seconds[kind] += event.duration_ps / 1e12
                open_until.append((event.offset_ps + event.duration_ps, kind))
    return seconds


def kind_of(name):
    """`Mul` for the event of an operation, such as `mlp/mul_1:Mul`, "XLA programs" for theirs; None for any other."""
    if name.endswith("::ExecuteAsyncOnStream"):
        return "XLA programs"
    found = re.search(r"[^:]:(?:_MklNative|_Mkl|_)?([A-Z]\w*)$", name)  # as oneDNN's are called
    return found[1] if found else None


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("workloads", nargs="+", choices=list(WORKLOADS), metavar="WORKLOAD", help=", ".join(WORKLOADS))
    parser.add_argument("--most", type=int, default=10, metavar="N", help="kinds to show (10)")
    arguments = parser.parse_args(argv)
    for workload in arguments.workloads:
        milliseconds, shares = traced(workload)
        shown = dict(list(shares.items())[: arguments.most])
        print(f"{workload}: {milliseconds:.3g} ms of processor time a task")
        for kind, share in shown.items():
            print(f"  {kind:30} {share:6.1%}")
        print(f"  {'other operations':30} {sum(shares.values()) - sum(shown.values()):6.1%}")
        print(f"  {'in no operation':30} {1 - sum(shares.values()):6.1%}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
