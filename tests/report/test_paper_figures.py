"""The paper's figures from results."""

import json

import matplotlib.axes
import pytest

from stochlwta_tf.cli import evaluate
from stochlwta_tf.figures import curves, style
from stochlwta_tf.report import collect, paper_figures
from tests.helpers import result_folders
from tests.helpers.result_folders import cell


@pytest.fixture
def drawn(monkeypatch):
    """The panels that a figure is drawn from."""
    panels = []
    for name in ("scores", "settings"):
        draw = getattr(curves, name)

        def spy(path, form, given, *labels, draw=draw):
            panels.extend(given)
            draw(path, form, given, *labels)

        monkeypatch.setattr(curves, name, spy)
    return panels


def test_curves_are_means_over_seeds_of_what_was_validated(tmp_path, drawn):
    for seed, values in enumerate(([0.5, 0.7], [0.6, 0.9])):
        path = result_folders.write(tmp_path, cell("figure2", "StochLWTA-ML", "omniglot_20w1s"), 70.0, seed=seed)
        rows = "".join(f"{i},1.0,{v}\n" for i, v in zip((1000, 2000), values))
        (path / "metrics.csv").write_text(f"iteration,seconds,val_accuracy\n500,0.5,\n{rows}")
    lines = paper_figures.FIGURES["2"](collect.read(tmp_path), tmp_path / "a.png", "png")
    own = drawn[0]["lines"][0]
    assert (own["label"], own["printed"], list(own["x"])) == ("StochLWTA-ML", 98.0, [1000, 2000])
    assert list(own["y"]) == pytest.approx([55.0, 80.0])
    assert any(
        line.startswith("missing: MAML, omniglot_20w1s: no run: python train.py --config configs/omniglot_20w1s_maml") for line in lines
    )


def test_a_training_at_length_is_drawn_over_the_minutes_of_its_processor(tmp_path, drawn):
    for seed, seconds in enumerate((600, 720)):
        path = result_folders.write(tmp_path, cell("at_length", "FOMAML", "omniglot_20w1s"), 70.0, seed=seed)
        (path / "metrics.csv").write_text(f"iteration,core_seconds,val_accuracy\n1000,{seconds},0.5\n2000,{2 * seconds},0.7\n")
    paper_figures.FIGURES["at_length"](collect.read(tmp_path), tmp_path / "a.png", "png")
    lines = {line["label"]: line for line in drawn[0]["lines"]}
    assert list(lines) == ["StochLWTA-ML", "FOMAML"], "the five-shot tests are of the same training"
    line = lines["FOMAML"]
    assert list(line["x"]) == pytest.approx([11.0, 22.0])
    assert list(line["y"]) == pytest.approx([50.0, 70.0])


def test_a_further_test_with_other_batch_statistics_has_no_curve_of_its_own(tmp_path, drawn):
    own = cell("at_length", "FOMAML", "omniglot_20w1s")
    path = result_folders.write(tmp_path, own, 70.0, statistics="transductive")
    result_folders.write(tmp_path, own.tested({"batch_statistics": "support"}), 69.0, statistics="support")
    (path / "metrics.csv").write_text("iteration,core_seconds,val_accuracy\n1000,60,0.5\n")
    paper_figures.FIGURES["at_length"](collect.read(tmp_path), tmp_path / "a.png", "png")
    assert [panel["title"] for panel in drawn] == ["Omniglot 20-way 1-shot\nprotocol standard, transductive"]


def validated(runs, suite, row, column, values="1000,1.0,0.5", **options):
    path = result_folders.write(runs, cell(suite, row, column), 70.0, **options)
    (path / "metrics.csv").write_text(f"iteration,seconds,val_accuracy\n{values}\n")


def test_an_axis_says_whose_accuracy_it_is(tmp_path, drawn):
    validated(tmp_path, "figure2", "StochLWTA-ML", "omniglot_20w1s")
    paper_figures.FIGURES["2"](collect.read(tmp_path), tmp_path / "a.png", "png")
    whose = "held-out classes" if cell("figure2", "StochLWTA-ML", "omniglot_20w1s").load().task.validation_classes else "training classes"
    assert drawn[0]["ylabel"] == f"validation accuracy, {whose}, %"


def test_a_panel_of_networks_without_batch_normalisation_does_not_say_transductive(tmp_path, drawn):
    """A run of MAML that has no curve makes the group a transductive one; the drawn network has no batch normalisation."""
    validated(tmp_path, "figure2", "StochLWTA-ML", "omniglot_20w1s")
    result_folders.write(tmp_path, cell("figure2", "MAML", "omniglot_20w1s"), 80.0, statistics="transductive")
    paper_figures.FIGURES["2"](collect.read(tmp_path), tmp_path / "a.png", "png")
    assert drawn[0]["title"] == "Omniglot 20-way 1-shot\nprotocol standard, no batch normalisation"


def test_a_method_has_one_colour_in_every_figure(tmp_path, monkeypatch):
    colours = {}
    plot = matplotlib.axes.Axes.plot

    def spy(axes, *arguments, **options):
        if options.get("label") and options["label"].partition(" (")[0] in style.METHODS:
            colours.setdefault(options["label"].partition(" (")[0], set()).add(options["color"])
        return plot(axes, *arguments, **options)

    monkeypatch.setattr(matplotlib.axes.Axes, "plot", spy)
    for figure in ("2", "4a", "4b"):
        paper_figures.FIGURES[figure](collect.read(tmp_path), tmp_path / "a.png", "png")
    assert colours == {name: {colour} for name, colour in style.METHODS.items()}
    assert len(set(style.METHODS.values())) == len(style.METHODS)


def test_times_are_drawn_from_zero(tmp_path, monkeypatch):
    limits = []
    monkeypatch.setattr(style, "grid", lambda axes, *_: limits.append(axes.get_ylim()[0]))
    panel = {"title": "", "points": [(25.0, 20.0, 19.0, 21.0), (35.0, 24.0, 23.0, 25.0)], "printed": {}}
    curves.settings(tmp_path / "a.png", "png", [panel], "", "", zero=True)
    assert limits == [0]
    assert paper_figures.FIGURES["3b"].keywords == {"zero": True}


def test_errors_of_regression_are_drawn_as_they_are(tmp_path, drawn):
    path = result_folders.write(tmp_path, cell("figure4a", "MAML", "sinusoid_default"), 0.2)
    (path / "metrics.csv").write_text("iteration,seconds,val_mse\n5000,1.0,0.5\n10000,2.0,0.25\n")
    paper_figures.FIGURES["4a"](collect.read(tmp_path), tmp_path / "a.png", "png")
    own = next(line for line in drawn[0]["lines"] if line["label"] == "MAML")
    assert (list(own["x"]), list(own["y"]), own["printed"]) == ([5000, 10000], [0.5, 0.25], 1.05)


def test_active_learning_is_drawn_by_its_queries_beside_random_choice(tmp_path, drawn, capsys):
    def written(row, text, seed=0):
        path = result_folders.write(tmp_path, cell("figure4c", row, "glyphs_5w1s"), 50.0, seed=seed, statistics="support")
        (path / "active-figure4c.json").write_text(text)

    def active(row, seed=0, **strategies):
        own = cell("figure4c", row, "glyphs_5w1s")
        config = own.load([f"seed={seed}", *own.test_assignments])
        of = {"name": config.name, "seed": seed, "iterations": config.training.iterations, "protocol": "standard", "evaluation_seed": 0}
        of |= {"task": config.resolved()["task"], "pool": 50, "labelled": list(range(5, 31))}
        return json.dumps({**of, "strategies": {name: {"value": v[:1] + v[1:] * 25} for name, v in strategies.items()}})

    written("StochLWTA-ML", active("StochLWTA-ML", entropy=[50.0, 60.0], random=[50.0, 54.0]))
    written("StochLWTA-ML", active("StochLWTA-ML", seed=1, entropy=[52.0, 64.0], random=[52.0, 56.0]), seed=1)
    written("MAML", active("MAML", random=[40.0, 44.0]))
    written("Reptile", "{")
    written("ABML", active("BMAML", random=[40.0, 44.0]))
    written("PLATIPUS", active("PLATIPUS", entropy=[40.0, 44.0]))
    lines = paper_figures.FIGURES["4c"](collect.read(tmp_path), tmp_path / "a.png", "png")
    by_method = {line["method"]: line for line in drawn[0]["lines"]}
    own, maml, reptile = (by_method.pop(method) for method in ("StochLWTA-ML", "MAML", "Reptile"))
    assert (list(own["x"]), list(own["y"][:2]), list(own["dashed"][:2]), own["printed"]) == (
        [*range(26)],
        [51.0, 62.0],
        [51.0, 55.0],
        66.85,
    )
    assert list(maml["y"][:2]) == [40.0, 44.0] and "dashed" not in maml and "x" not in reptile
    assert any(line.startswith("missing: Reptile, glyphs_5w1s: no test of active learning: python train.py") for line in lines)
    assert by_method and not any("x" in line for line in by_method.values())
    said = capsys.readouterr().err
    assert "glyphs_5w1s_reptile-seed0/active-figure4c.json: corrupted: not JSON" in said
    assert "glyphs_5w1s_abml-seed0/active-figure4c.json: another run or test: expected name=glyphs_5w1s_abml." in said
    assert "glyphs_5w1s_platipus-seed0/active-figure4c.json: corrupted" in said


def test_a_curve_is_drawn_under_the_protocol_that_it_was_validated_under(tmp_path, drawn):
    own = cell("figure2", "StochLWTA-ML", "omniglot_20w1s")
    for protocol in ("standard", "original_code"):
        path = result_folders.write(tmp_path, own, 70.0, trained="standard", protocol=protocol)
    (path / "metrics.csv").write_text("iteration,seconds,val_accuracy\n1000,1.0,0.5\n")
    paper_figures.FIGURES["2"](collect.read(tmp_path), tmp_path / "a.png", "png")
    assert [panel["title"] for panel in drawn] == ["Omniglot 20-way 1-shot\nprotocol standard, no batch normalisation"]


@pytest.mark.parametrize("text", [b"\xff\xfe", b"seconds,val_accuracy\n1.0,0.5\n", b"iteration,val_accuracy\n1000,half\n"])
def test_corrupted_metrics_are_a_missing_curve(tmp_path, drawn, text):
    path = result_folders.write(tmp_path, cell("figure2", "StochLWTA-ML", "omniglot_20w1s"), 70.0)
    (path / "metrics.csv").write_bytes(text)
    lines = paper_figures.FIGURES["2"](collect.read(tmp_path), tmp_path / "a.png", "png")
    assert any(line.startswith("missing: StochLWTA-ML, omniglot_20w1s: no val_accuracy in metrics.csv") for line in lines)


def test_points_have_their_intervals_and_the_papers_beside_them(tmp_path, drawn):
    result_folders.write(tmp_path, cell("figure3c", "4", "omniglot_20w1s"), 50.0)
    result_folders.write(tmp_path, cell("figure3c", "7", "omniglot_20w1s"), 52.0)
    paper_figures.FIGURES["3c"](collect.read(tmp_path), tmp_path / "a.png", "png")
    assert drawn[0]["points"] == [(4.0, 50.0, 49.5, 50.5), (7.0, 52.0, 51.5, 52.5)]
    assert drawn[0]["printed"][4] == 97.8


@pytest.mark.parametrize("form", ["png", "svg"])
def test_a_figure_made_twice_is_the_same_byte_for_byte(tmp_path, form):
    result_folders.write(tmp_path / "runs", cell("figure3a", "50", "omniglot_20w1s"), 50.0)
    files = []
    for name in "ab":
        out = tmp_path / f"{name}.{form}"
        assert evaluate.main(["--figure", "3a", "--runs", str(tmp_path / "runs"), "--out", str(out)]) == 0
        files.append(out.read_bytes())
    assert files[0] == files[1]
