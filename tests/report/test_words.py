"""Numbers in the words about results are in the files of the runs that the words name."""

import itertools
import json
import re

import numpy as np
import pytest
from scipy import stats

from stochlwta_tf import paper
from stochlwta_tf.config import yaml_file
from stochlwta_tf.training.records import read
from tests.helpers import REPOSITORY

WORDS = [
    REPOSITORY / name for name in ("docs/findings.md", "docs/protocols.md", "docs/reproducibility.md", "results/discussion.md", "README.md")
]
_CLAIM = re.compile(r"(?<![\w.])[−-]?\d+\.\d+(?![\w.]\d)|(?<![\w.,])[−-]?\d+(?= (?:%|points))")
_LEVELS = (90.0, 95.0)  # of intervals and bands
_RUN = re.compile(r"`((?:omniglot|sinusoid|cifar100|miniimagenet|glyphs|own)_\w+)(?:-seed(\d+))?`")


def values_in(node):
    """Every number in plain values, but for those of single tasks."""
    if isinstance(node, dict):
        return [number for key, value in node.items() if key != "per_task" for number in values_in(value)]
    if isinstance(node, list):
        return [number for value in node for number in values_in(value)]
    return [float(node)] if isinstance(node, int | float) and not isinstance(node, bool) else []


def numbers_of(name, seed):
    """The numbers in the files of a configuration's runs: of each run, and the means over seeds of its measures."""
    found, measures = [], {}
    for folder in sorted((REPOSITORY / "results").rglob(f"{name}-seed{seed or '*'}")):
        for path in folder.glob("*.json"):
            if path.name != "environment.json":
                found += values_in(json.loads(path.read_text(encoding="utf-8")))
        found += values_in(yaml_file.read(folder / "config.yaml"))
        last = [float(value) for value in (read(folder / "metrics.csv") or [{}])[-1].values() if value]
        found += [*last, *(100 * value for value in last)]  # accuracies of the training are fractions
        if (folder / "evaluation.json").exists():
            for key, row in json.loads((folder / "evaluation.json").read_text(encoding="utf-8"))["measures"].items():
                measures.setdefault(key, []).append(row["value"])
    assert found, f"there is no kept run of {name}"
    return found + [sum(values) / len(values) for values in measures.values()]


def differences_of(names):
    """Mean and half of the 95 % interval of the difference in accuracy of each two runs of the same tasks, from their values per task."""
    found, tests = [], {}
    for name, seed in names:
        for path in sorted((REPOSITORY / "results").rglob(f"{name}-seed{seed or '*'}/evaluation*.json")):
            tests.setdefault(path.name, []).append(json.loads(path.read_text(encoding="utf-8"))["per_task"].get("accuracy", []))
    for a, b in itertools.chain.from_iterable(itertools.combinations(accuracies, 2) for accuracies in tests.values()):
        if len(a) == len(b) > 1:
            test = stats.ttest_rel(np.array(a, float), np.array(b, float), nan_policy="omit")
            low, high = test.confidence_interval()
            found += [(low + high) / 2, (high - low) / 2]
    return found


def unsupported(text):
    """The numbers of each paragraph that none of the runs it names, nor the paper, has."""
    wrong = []
    text = re.sub(r"Python [\d.]+ to [\d.]+", "", text)
    text = re.sub(r"<!-- summary -->.*?<!-- end -->|```.*?```", "", text, flags=re.S)  # the table has a test of its own
    printed = values_in(paper.results())
    for paragraph in re.split(r"\n\s*\n", text):
        known = [*(printed if "paper" in paragraph else ()), *_LEVELS] + [
            number for name, seed in _RUN.findall(paragraph) for number in numbers_of(name, seed)
        ]
        if "on the same tasks" in paragraph:
            known += differences_of(_RUN.findall(paragraph))
        for claim in _CLAIM.findall(paragraph):
            digits = len(claim.partition(".")[2])
            value = float(claim.replace("−", "-"))
            if not any(abs(abs(value) - abs(number)) <= 0.5000001 * 10**-digits for number in known):
                wrong.append(f"{claim} in: {paragraph.strip()[:80]}")
    return wrong


@pytest.mark.parametrize("path", WORDS, ids=lambda path: path.name)
def test_each_number_is_in_a_result(path):
    assert unsupported(path.read_text(encoding="utf-8")) == []


def test_a_number_without_a_run_is_found():
    name = next(path.name.partition("-seed")[0] for path in sorted((REPOSITORY / "results" / "runs").iterdir()))
    assert unsupported(f"In `{name}` it is 123.456 and 7.7654321 %.") == [
        f"123.456 in: In `{name}` it is 123.456 and 7.7654321 %.",
        f"7.7654321 in: In `{name}` it is 123.456 and 7.7654321 %.",
    ]
    with pytest.raises(AssertionError, match="there is no kept run of omniglot_never"):
        unsupported("`omniglot_never` has 97.79 %.")
