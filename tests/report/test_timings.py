"""Tables that read times."""

import json

from stochlwta_tf.config import suites
from stochlwta_tf.report import collect, render, tables
from tests.helpers import result_folders

SPREAD = {"median_ms": 20.0, "low_ms": 19.0, "high_ms": 22.0, "count": 30, "compile_seconds": 5.0}


def test_a_table_reads_times_and_parameters(tmp_path):
    cell = result_folders.cell("table6", "StochLWTA-ML", "train_ms")
    entry = {
        "config": cell.load().resolved(), "train": SPREAD, "predict": {**SPREAD, "median_ms": 3.0},
        "parameters": {"trainable": 2000, "stored": 2100},
    }  # fmt: skip
    file = {"device": "a processor", "threads": {"intra_op": 0, "inter_op": 0}, "command": "timing", "entries": [entry]}
    (tmp_path / "timing-table6.json").write_text(json.dumps(file))
    table = tables.fill(suites.load("table6"), collect.read(tmp_path))
    found = {e.column: (e.ours, e.paper) for e in table.groups[0][1] if e.row == "StochLWTA-ML" and e.ours is not None}
    # Its own number of tasks is 50, as the paper's.
    times = {"train_ms": (20.0, None), "train_ms, 50 tasks": (20.0, 63.11), "predict_ms": (3.0, 25.45)}
    assert found == {**times, "params": (2000, 2092)}
    assert "20.00 [19.00, 22.00] for 50 tasks / 63.11" in render.markdown(table)
    missing = next(e for e in table.groups[0][1] if (e.row, e.column) == ("MAML", "train_ms"))
    assert missing.fill_by == f"python -m stochlwta_tf.cli.timing --suite table6 --out {tmp_path}/timing-table6.json"


def test_all_times_of_a_table_are_of_one_file(tmp_path):
    def write(name, rows, milliseconds):
        cells = [result_folders.cell("table6", row, "train_ms") for row in rows]
        entries = [
            {"config": c.load().resolved(), "train": {**SPREAD, "median_ms": milliseconds}, "predict": SPREAD,
             "parameters": {"trainable": 2000, "stored": 2100}} for c in cells
        ]  # fmt: skip
        file = {"device": "a processor", "threads": {}, "command": name, "entries": entries}
        (tmp_path / f"timing-{name}.json").write_text(json.dumps(file))

    write("a", ["MAML", "StochLWTA-ML"], 10.0)
    write("b", ["StochLWTA-ML"], 99.0)
    table = tables.fill(suites.load("table6"), collect.read(tmp_path))
    assert {(e.row, e.ours) for e in table.groups[0][1] if e.measure == "train_ms" and e.ours} == {("MAML", 10.0), ("StochLWTA-ML", 10.0)}
