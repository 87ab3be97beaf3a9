"""A suite of small runs, and a stand-in for the processes that make them."""

import json
from pathlib import Path

from stochlwta_tf.config import configuration

BASE = {
    "name": "base",
    "task": {"name": "sinusoid", "train_queries": 0},
    "network": {"name": "mlp", "units": [4]},
    "learner": {"name": "reptile", "inner_steps": 1},
    "optimizer": {"name": "sgd", "learning_rate": 0.01, "schedule": "linear"},
    "training": {"iterations": 200, "meta_batch_size": 4, "log_every": 100, "steps_per_execution": 50},
    "evaluation": {"tasks": 4, "batch": 2},
}
SUITE = {
    "title": "Tiny",
    "measure": "mse",
    "seeds": [0, 1],
    "columns": ["base"],
    "rows": [
        {"label": "a", "config": "{task}"},
        {"label": "explodes", "config": "{task}", "name": "explodes", "set": {"learner.inner_lr": 1e30, "learner.inner_steps": 20}},
        {"label": "b", "config": "{task}", "name": "b", "set": {"network.units": [3]}},
        {"label": "b, tested with two draws", "config": "{task}", "name": "b", "set": {"network.units": [3]}, "test": {"draws": 2}},
        {"label": "elsewhere", "config": "{task}_of_another_version"},
    ],
}


class Starts:
    """Stands in for a Python process: makes what a run would leave, and notes how it was called."""

    def __init__(self, fails=()):
        self.calls, self.fails = [], fails

    def __call__(self, arguments):
        self.calls.append(arguments)
        if any(name in " ".join(arguments) for name in self.fails):
            return 3, "", "noise\nerror: not finite at iteration 7 (seed 0): task 0.\nmore noise\n"
        if "--rate" in arguments:
            return 0, 'a line\n{"seconds_per_iteration": 0.1, "compile_seconds": 1.0}\n', ""
        options = dict(zip(arguments, arguments[1:]))
        if arguments[0] == "evaluate.py":
            given = arguments[arguments.index("--set") + 1 : arguments.index("--out")]
            finish(Path(options["--run"]), Path(options["--out"]).name, given)
            return 0, "", ""
        folder = Path(options["--out"])
        if "--resume" not in arguments:
            given = arguments[arguments.index("--set") + 1 : arguments.index("--out")] if "--set" in arguments else []
            folder.mkdir(parents=True)
            (folder / "config.yaml").write_text(configuration.load(options["--config"], given).to_yaml())
        finish(folder)
        return 0, "", ""


def finish(folder, name="evaluation.json", assignments=()):
    config = configuration.load(folder / "config.yaml", assignments)
    resolved = config.resolved()
    (folder / "model.keras").touch()
    curve = {"value": [1.0, 1.0, 1.0, 1.0]}
    (folder / name).write_text(
        json.dumps(
            {
                "labelled": [5, 6, 7, 8], "strategies": {"variance": curve, "random": curve}, "pool": 100, "evaluation_seed": 0,
                "name": config.name, "measures": {"mse": {"value": 1.0, "ci95": 0.1, "unit": ""}}, "tasks": 4, "protocol": "standard",
                "batch_statistics": None, "iterations": config.training.iterations, "seed": config.seed, "task": resolved["task"],
                "learner": resolved["learner"], "evaluation": resolved["evaluation"], "inner_steps": 1, "draws": 1,
                "parameters": {"trainable": 1, "stored": 1}, "device": "none", "command": "none",
            }
        )
    )  # fmt: skip
