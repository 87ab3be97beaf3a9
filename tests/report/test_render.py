"""Tables as Markdown and CSV."""

import csv
import io
import re

from stochlwta_tf.report import render
from tests.helpers import result_folders
from tests.helpers.result_folders import cell, entry


def test_a_cell_with_diverged_tasks_shows_the_median_and_no_difference(tmp_path):
    own = cell("figure4a", "MAML", "sinusoid_default")
    for seed, (value, median, diverged) in enumerate(((0.5, 0.4, 0), (1e5, 0.42, 3))):
        row = {"value": value, "ci95": 0.1, "unit": "", "median": median, **({"diverged": diverged} if diverged else {})}
        result_folders.write(tmp_path, own, 0.0, seed=seed, measures={"mse": row})
    found = result_folders.table(tmp_path, "figure4a")
    assert entry(found, "MAML", "sinusoid_default").difference is None
    text = render.markdown(found)
    assert "| median 0.410 (3 of 1,200 tasks diverged) / 1.050 |" in re.sub(" +", " ", text)
    assert "100000" not in text and "50000" not in text


def test_a_table_says_whose_splits_its_accuracies_are_of(runs, tmp_path):
    assert "Protocol `standard` has other test classes than the paper's own splits" in render.markdown(result_folders.table(runs, "table5"))
    result_folders.write(tmp_path / "other", cell("regression", "MAML", "default, own"), 0.3)
    assert "own splits" not in render.markdown(result_folders.table(tmp_path / "other", "regression"))


def test_csv_has_a_line_for_each_cell_and_the_literature(runs):
    lines = list(csv.DictReader(io.StringIO(render.comma_separated(result_folders.table(runs, "table1")))))
    quoted = [(line["row"], line["column"], line["paper"]) for line in lines if line["variant"] == "literature"]
    assert ("GEM-BML+", "omniglot_20w1s", "96.24") in quoted
    own = [line for line in lines if line["ours"]]
    assert [(line["row"], line["protocol"], line["seeds"], line["iterations"]) for line in own] == [
        ("StochLWTA-ML", "standard", "0 1 2", "60000")
    ]
