"""The contestants of `compare.py`: which there are, and their processes."""

import contextlib
import dataclasses
import itertools
import json
import os
import pathlib
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
OURS = "stochlwta_tf"


class Failure(Exception):
    """An error that the user can fix, in one line."""


@dataclasses.dataclass(frozen=True)
class Peer:
    """A library or a way of working.

    Args:
        module: In `peers/`.
        learners: What it trains, as configurations name learners; none for all of them.
        needs: What its interpreter must be able to import.
    """

    module: str
    learners: tuple[str, ...] = ()
    needs: str = "numpy"


PEERS = {
    OURS: Peer("package"),
    "jax": Peer("with_jax", needs="numpy, jax, optax"),
    "torch.func": Peer("with_torch_func", needs="numpy, torch"),
    "learn2learn": Peer("with_learn2learn", ("maml", "fomaml"), needs="numpy, torch"),
    "published code": Peer("published", ("stochlwta",)),
}


def variants(peer, spec, arguments):
    """The settings of a peer that are tried, of which the best counts, as options of its process."""
    convolutional = spec["config"]["network"]["name"] == "conv4"
    sampled = spec["config"]["learner"]["name"] in ("stochlwta", "abml", "platipus")
    if peer == "jax":
        generators = ("threefry2x32", "unsafe_rbg") if sampled else ("threefry2x32",)
        maps = ("vmap", "lax.map") if convolutional and not spec["predict"] else ("vmap",)
        return [{"prng": prng, "tasks": tasks} for prng, tasks in itertools.product(generators, maps)]
    if peer in ("torch.func", "learn2learn"):
        return [{"threads": n, "learn2learn": str(arguments.learn2learn)} for n in sorted(set(arguments.torch_threads))]
    return [{}]


def available(arguments):
    """The interpreter of each peer that can take part; the others are named on standard error."""
    found = {}
    for name in arguments.peers:
        python = {"jax": arguments.jax_python, "torch.func": arguments.torch_python, "learn2learn": arguments.torch_python}.get(name)
        option = "--jax-python" if name == "jax" else "--torch-python"
        if name in (OURS, "published code"):
            found[name] = sys.executable
        elif python is None:
            print(f"{name}: skipped: no {option} was given", file=sys.stderr)
        elif name == "learn2learn" and not _has_source(arguments.learn2learn):
            print(f"{name}: skipped: --learn2learn must be the folder of its source", file=sys.stderr)
        elif reason := _missing(python, PEERS[name].needs):
            print(f"{name}: skipped: {option} {python}: {reason}", file=sys.stderr)
        else:
            found[name] = python
    return found


def _has_source(folder):
    return folder is not None and (folder / "learn2learn" / "algorithms" / "maml.py").is_file()


def _missing(python, modules):
    try:
        done = subprocess.run([python, "-c", f"import {modules}"], capture_output=True, encoding="utf-8", check=False)
    except OSError as error:
        return error.strerror
    return (done.stderr.strip().splitlines() or ["cannot be started"])[-1] if done.returncode else ""


class Contestant:
    """A peer's process under one setting.

    Args:
        peer: Its name.
        python: The interpreter.
        folder: Where the workload's specification, weights and tasks are, or will be.
        options: The setting.
    """

    def __init__(self, peer, python, folder, options):
        self.peer, self.options, self.folder = peer, options, folder
        self.iterations = self.tasks = self.compile = None
        self.walls, self.cpus, self.peak = [], [], 0.0
        environment = {"TF_CPP_MIN_LOG_LEVEL": "3", **os.environ}
        # This checkout's package, whichever is installed; but no module search path of this interpreter for another one.
        path = [str(HERE.parent), os.environ.get("PYTHONPATH", "")] if python == sys.executable else []
        environment["PYTHONPATH"] = os.pathsep.join(filter(None, path))
        self._messages = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")
        command = [python, str(HERE / "serve.py"), PEERS[peer].module, folder, json.dumps(options)]
        self._process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._messages, encoding="utf-8", env=environment
        )

    def ask(self, do, **request):
        """Sends a request and waits for its answer.

        Raises:
            Failure: The process has ended.
        """
        try:
            print(json.dumps({"do": do, **request}), file=self._process.stdin, flush=True)
            line = self._process.stdout.readline()
        except BrokenPipeError:
            line = ""
        if not line:
            self._process.wait()
            self._messages.seek(0)
            last = (self._messages.read().strip().splitlines() or ["no message"])[-1]
            raise Failure(f"{self.peer} ended with exit status {self._process.returncode}: {last[:300]}")
        return json.loads(line)

    def start(self, seconds):
        """Builds and compiles it, and finds how many iterations take about so much processor time."""
        built = self.ask("build")
        self.tasks = built["tasks"]
        first, second = (self.ask("run", iterations=built["multiple"]) for _ in range(2))
        self.compile = {name: max(0.0, first[name] - second[name]) for name in ("wall", "cpu")}
        self.iterations = built["multiple"] * max(1, round(seconds / max(second["cpu"], 1e-6)))

    def measure(self):
        """One repetition: seconds for each task, by the clock and of processor time."""
        answer = self.ask("run", iterations=self.iterations)
        count = self.iterations * self.tasks
        self.walls.append(answer["wall"] / count)
        self.cpus.append(answer["cpu"] / count)
        self.peak = answer["peak_mib"]

    def forget(self):
        self.walls, self.cpus = [], []

    @property
    def setting(self):
        """The options in words."""
        words = [f"{value} threads" if name == "threads" else str(value) for name, value in self.options.items() if name != "learn2learn"]
        return ", ".join(words).replace("1 threads", "1 thread")

    def close(self):
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._process.stdout.close()
        self._messages.close()
