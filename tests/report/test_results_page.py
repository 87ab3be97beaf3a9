"""The page of all results as HTML."""

import jinja2
import pytest
from matplotlib.figure import Figure

from stochlwta_tf.cli import evaluate
from stochlwta_tf.report import cell_text, collect, html, results_page
from tests.helpers import REPOSITORY, result_folders
from tests.helpers.html_pages import Page
from tests.helpers.result_folders import GAUSSIAN, cell


def page_of(runs):
    return Page(results_page.text(collect.read(runs), runs)[0])


def test_every_kept_number_is_on_the_page_which_needs_no_other_file():
    runs = REPOSITORY / "results"
    page = page_of(runs)
    page.check_alone()
    for result in collect.read(runs).results:
        assert result.folder in page.text
        for name, measure in result.evaluation.measures.items():
            assert cell_text.of_test(name, measure) in page.text, (result.folder, name)


def test_a_cell_has_its_iterations_the_papers_number_and_its_details(runs):
    page = page_of(runs)
    assert "92.00 ± 6.57 60,000 iterations paper 97.79, −5.79 details" in page.text
    assert "seeds 0, 1, 2" in page.text.replace("seeds0", "seeds 0") and "train.py --config configs/omniglot_20w1s.yaml" in page.text
    assert ("table", {"class": "sortable"}) in page.tags


def test_what_files_say_is_text(tmp_path):
    attack = '<script>alert(1)</script><img src=x onerror="alert(1)">'
    changes = {"command": attack, "device": "a & b </details>", "data_notes": [attack]}
    result_folders.write(tmp_path, cell("table5", GAUSSIAN, "omniglot_20w1s"), 90.0, folder='a<b>&"c', **changes)
    (tmp_path / "discussion.md").write_text(f"## Words\n\n{attack} and [a](javascript:alert(1)), ![p](../secret.png) **b**\n")
    page = page_of(tmp_path)
    page.check_alone()
    assert page.text.count("<script>alert(1)</script>") >= 3 and 'a<b>&"c' in page.text and "a & b </details>" in page.text
    assert [tag for tag, _ in page.tags].count("script") == 1
    assert not any("javascript" in (attrs.get("href") or "") for _, attrs in page.tags)
    assert ("strong", {}) in page.tags


def test_a_measure_that_one_of_two_runs_lacks_is_a_dash_that_sorts_last_and_a_runs_own_page_is_linked(tmp_path):
    both = {"accuracy": {"value": 90.0, "ci95": 0.5, "unit": "%"}, "nll": {"value": 0.25, "ci95": 0.01, "unit": "nats"}}
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    folder = result_folders.write(tmp_path, own, 0.0, measures=both)
    result_folders.write(tmp_path, own, 91.0, seed=1)
    (folder / "report.html").write_text("x")
    text, _ = results_page.text(collect.read(tmp_path), tmp_path)
    assert 'data-value="0.25">0.250 ± 0.010' in text
    assert 'data-value=""><span class="missing">–' in text[text.index('id="runs"') :]
    assert ("a", {"href": f"{folder.name}/report.html"}) in Page(text).tags


def test_two_equal_pictures_of_a_page_share_no_names(monkeypatch):
    def draw(file, kind):
        drawn = Figure()
        drawn.add_subplot().plot([0, 1], [0, 1], "o")
        drawn.savefig(file, format=kind)

    monkeypatch.setattr(html._templates(), "loader", jinja2.DictLoader({"two.html": "{{ picture }}{{ picture }}"}))
    page = Page(html.render("two.html", picture=html.figure(draw, "a point")))
    page.check_alone()
    assert [tag for tag, _ in page.tags].count("svg") == 2 and sum("clip-path" in attrs for _, attrs in page.tags) > 0


@pytest.mark.slow
def test_the_page_made_twice_is_the_same_byte_for_byte(runs, capsys):
    command = ["--page", "--runs", str(runs), "--format", "html"]
    assert evaluate.main(command) == 0
    first = (runs / "index.html").read_bytes()
    assert results_page.text(collect.read(runs), runs)[0].encode() == first
    assert f"The page is {runs / 'index.html'}." in capsys.readouterr().out
    assert not (runs / "README.md").exists()


@pytest.mark.parametrize(("text", "inside"), [("![p](a.svg)", 1), ("![p](../a.svg)", 0), ("![p](none.png)", 0), ("![p](a.txt)", 0)])
def test_pictures_of_the_folder_alone_are_embedded(tmp_path, text, inside):
    for path in (tmp_path / "a.svg", tmp_path / "runs" / "a.svg", tmp_path / "runs" / "a.txt"):
        path.parent.mkdir(exist_ok=True)
        path.write_text("<svg/>")
    assert html.markdown(text, tmp_path / "runs").count('<img src="data:image/svg+xml;base64,PHN2Zy8+"') == inside
