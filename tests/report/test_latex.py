"""Tables as LaTeX: what a compiler would refuse, and which numbers are bold."""

import re

import pytest

from stochlwta_tf.report import latex
from tests.helpers import result_folders
from tests.helpers.result_folders import GAUSSIAN, cell

_RELU = "ReLU (Gaussians)"


def rows_of(text):
    """The cells of each row of each tabular, without the rules."""
    body = "\n".join(line for line in text.splitlines() if not line.startswith("%"))
    for columns, tabular in re.findall(r"\\begin\{tabular\}\{(lr*)\}\n(.*?)\n  \\end\{tabular\}", body, flags=re.S):
        for line in (line[4:] for line in tabular.splitlines()):
            if not re.fullmatch(r"\\(top|mid|bottom)rule", line):
                assert line.endswith(r" \\"), line
                span = re.match(r"\\multicolumn\{(\d+)\}\{l\}", line)
                cells = line.removesuffix(r" \\").split(" & ")
                assert (int(span[1]) if span else len(cells)) == len(columns), line
                yield cells


def bold_in(text):
    """The labels of rows whose first number is bold."""
    return [cells[0] for cells in rows_of(text) if len(cells) > 1 and r"\mathbf" in cells[1]]


def stripped(text):
    """A text without what LaTeX reads as escapes, commands, mathematics and groups."""
    return re.sub(r"\\[&%$#_{}]|\$[^$]*\$|\\[A-Za-z]+\*?|[{}]", "", text)


def test_rows_end_and_have_as_many_cells_as_columns(runs):
    text = latex.latex(result_folders.table(runs, "table1"))
    found = list(rows_of(text))
    assert ["MAML", "$95.80$", "$98.90$", "$48.70$", "$63.11$", "", ""] in found  # as quoted there
    assert [cells[1] for cells in found if cells[0] == "StochLWTA-ML"] == [r"$97.79\;(0.48)$"]
    assert [cells[1] for cells in found if cells[0].startswith("StochLWTA-ML (the paper's")] == [r"$92.00 \pm 6.57$"]
    for name in ("begin", "end"):
        assert text.count(rf"\{name}{{table*}}") == 1
    assert text.index(r"\caption{Accuracy, \%. Protocol standard") < text.index(r"\label{tab:table1-standard}") < text.index(r"\toprule")
    assert (
        "% StochLWTA-ML (the paper's network and rates), omniglot_20w1s: seeds 0, 1, 2; 60,000 iterations; 600 test tasks; train.py" in text
    )
    for line in text.splitlines():
        if not line.startswith("%"):
            assert not re.search(r"(?<!\\)[%#_^~]|[^\x00-\x7f]", line.removesuffix("{%")), line
    assert len(re.findall(r"(?<!\\)\{", text)) == len(re.findall(r"(?<!\\)\}", text))


@pytest.mark.parametrize("text", [r"a_b & 5 % of $x$ {y} \z ~ ^ # σ ± − – <|> “q”", "\\end{document}", "100%", "\\\\"])
def test_nothing_in_a_text_is_a_command(text):
    escaped = latex.escape(text)
    assert not re.search(r"[&%$#_\\{}~^<>|]|[^\x00-\x7f]", stripped(escaped)), escaped
    assert {*re.findall(r"\\[A-Za-z]+", escaped)} <= {r"\textbackslash", r"\textasciitilde", r"\textasciicircum", r"\sigma", r"\pm"}


def test_the_best_of_a_column_is_bold_with_those_it_cannot_be_told_from(tmp_path):
    for label, value in ((GAUSSIAN, 91.0), (_RELU, 90.2), ("ReLU (point estimates)", 85.0)):
        result_folders.write(tmp_path, cell("table5", label, "omniglot_20w1s"), value, iterations=100)
    text = latex.latex(result_folders.table(tmp_path, "table5"))
    assert bold_in(text) == [_RELU, GAUSSIAN]  # 91.0 ± 0.5 and 90.2 ± 0.5 overlap
    assert "Bold: the best of our means in a column" in text


@pytest.mark.parametrize("other", [{"iterations": 200}, {"tasks": 300}])
def test_nothing_is_bold_among_trainings_or_tests_of_other_lengths(tmp_path, other):
    result_folders.write(tmp_path, cell("table5", GAUSSIAN, "omniglot_20w1s"), 91.0, iterations=100)
    result_folders.write(tmp_path, cell("table5", _RELU, "omniglot_20w1s"), 50.0, **{"iterations": 100, **other})
    text = latex.latex(result_folders.table(tmp_path, "table5"))
    assert r"\mathbf" not in text and "otherwise than each other: Omniglot 20-way 1-shot." in text


def test_as_much_processor_time_is_as_long(tmp_path):
    for label, iterations, seconds in ((GAUSSIAN, 100, 180.0), (_RELU, 200, 160.0)):
        own = cell("table5", label, "omniglot_20w1s")
        result_folders.write(tmp_path, own, 50.0 + iterations, iterations=iterations, training={"core_seconds": seconds})
    assert bold_in(latex.latex(result_folders.table(tmp_path, "table5"))) == [_RELU]


def test_a_median_is_marked_and_an_empty_cell_is_a_dash(tmp_path):
    own = cell("figure4a", "MAML", "sinusoid_default")
    row = {"value": 1e5, "ci95": 0.1, "unit": "", "median": 0.42, "diverged": 3}
    result_folders.write(tmp_path, own, 0.0, measures={"mse": row})
    text = latex.latex(result_folders.table(tmp_path, "regression"))
    found = next(cells for cells in rows_of(text) if cells[0] == "MAML" and "dagger" in cells[1])
    assert found[1] == r"$0.420^{\dagger}$" and found[2] == "--"
    assert r"$\dagger$: median over all tasks" in text
