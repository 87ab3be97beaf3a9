"""Tables and figures from the command line."""

import pytest
import yaml

from stochlwta_tf.cli import evaluate
from stochlwta_tf.report import render
from tests.helpers import result_folders


@pytest.mark.parametrize("form", render.FORMATS)
def test_a_table_made_twice_is_the_same_byte_for_byte(tmp_path, form):
    result_folders.three_seeds(tmp_path / "runs")
    files = []
    for name in "ab":
        out = tmp_path / name
        assert evaluate.main(["--table", "5", "--runs", str(tmp_path / "runs"), "--format", form, "--out", str(out)]) == 0
        files.append(out.read_bytes())
    assert files[0] == files[1]
    assert b"92.0" in files[0]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"rows": [{"label": "a", "config": "{tasks}"}]}, "row a: config may have {task}, and no other braces. Received: {tasks}."),
        ({"rows": [{"label": "a", "config": "x"}] * 2}, "two rows have the label a and the column omniglot_20w1s"),
        ({"columns": [{"labl": "x"}]}, "columns.0.label is missing."),
        ({"rows": [{"label": "a", "config": "{task}", "test": {"draw": 1}}]}, "row a: test: unknown option draw. Did you mean 'draws'?"),
        ({"rows": [{"label": "a", "config": "{task}", "test": {"seed": 1}}]}, "row a: test: unknown option seed."),
        ({"literature": ["table1", "lit"]}, "the paper has no literature: ['table1', 'lit']. Received: lit."),
    ],
)
def test_a_mistake_in_a_suite_is_one_line(tmp_path, capsys, changes, message):
    suite = {"title": "T", "columns": ["omniglot_20w1s"], "rows": [{"label": "a", "config": "{task}"}], **changes}
    (tmp_path / "mine.yaml").write_text(yaml.safe_dump(suite))
    status = evaluate.main(["--table", str(tmp_path / "mine.yaml"), "--runs", str(tmp_path)])
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1
    assert status == (0 if "option" in message else 2)  # one cell that cannot be is a cell left empty


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--table", "7"], "unknown suite 7."),
        (["--table", "5", "--format", "html"], "--format must be markdown, csv, latex. Received: --format html."),
        (["--page", "--format", "csv"], "--format of --page must be markdown, html. Received: --format csv."),
        (["--figure", "9", "--out", "a.png"], "--figure must be 2, 3a, 3b, 3c"),
        (["--figure", "2"], "a figure needs --out FILE.png or FILE.svg."),
        (["--table", "5", "--page"], "one report at a time."),
        (["--table", "5", "--run", "runs/x"], "--table takes many runs"),
        (["--winners"], "--winners needs --run DIR"),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path, capsys, options, message):
    assert evaluate.main([*options, "--runs", str(tmp_path)]) == 2
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
