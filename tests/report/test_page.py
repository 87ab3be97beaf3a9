"""The page of all tables, and the README's table."""

from stochlwta_tf.cli import evaluate
from stochlwta_tf.report import collect, page, render
from tests.helpers import REPOSITORY, result_folders
from tests.helpers.result_folders import cell, entry


def test_the_page_made_twice_is_the_same_byte_for_byte(runs):
    assert evaluate.main(["--page", "--runs", str(runs)]) == 0
    first = (runs / "README.md").read_bytes()
    assert evaluate.main(["--page", "--runs", str(runs)]) == 0
    assert (runs / "README.md").read_bytes() == first
    assert "92.00 ± 6.57 / 97.79 / −5.79" in first.decode()
    assert page.text(collect.read(runs), runs)[0].encode() == first


def test_the_page_begins_with_what_was_written_about_the_results(runs):
    (runs / "discussion.md").write_text("## In words\n\nCompeting units win.\n")
    text, _ = page.text(collect.read(runs), runs)
    assert text.index("# Results") < text.index("## In words\n\nCompeting units win.\n\n## ") < text.index("## Every run")


def test_the_tables_most_asked_for_come_first_then_figures_then_the_papers_other_tables():
    text, _ = page.text(collect.read(REPOSITORY / "results"), REPOSITORY / "results")
    places = [text.index(f"\n## {head}") for head in ("Summary\n", "Table 1 at equal time", "Sinusoid regression", "Table 1: accuracy")]
    assert places == sorted(places) and places[2] < text.index("![figures/figure4a.png]") < places[3]


def test_the_readmes_table_is_that_of_the_kept_results():
    text = render.markdown(result_folders.table(REPOSITORY / "results", "summary"))
    grid = next(block for block in text.split("\n\n") if block.startswith("| ours / paper / difference"))
    assert grid in (REPOSITORY / "README.md").read_text(encoding="utf-8")


def test_what_an_old_file_says_of_the_papers_number_is_not_read(tmp_path):
    own = cell("tableD1", "MAML", "accuracy", "small convolutions")
    row = {"value": 36.0, "ci95": 0.5, "unit": "%", "paper": 95.48, "paper_source": "table 1", "difference": -59.48}
    result_folders.write(tmp_path, own, 0.0, measures={"accuracy": row})
    found = entry(result_folders.table(tmp_path, "tableD1"), "MAML", "accuracy", variant="small convolutions")
    assert (found.ours, found.paper, found.difference) == (36.0, None, None)
    assert "95.48" not in page.text(collect.read(tmp_path), tmp_path)[0]
