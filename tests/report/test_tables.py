"""Tables from results: the right number in the right cell, beside the paper's."""

import csv
import io
import json
import re

import pytest
import yaml

from stochlwta_tf import networks
from stochlwta_tf.cli import evaluate
from stochlwta_tf.config import suites
from stochlwta_tf.errors import ConfigurationError
from stochlwta_tf.report import collect, match, page, paper_cell, render, tables
from tests.helpers import REPOSITORY, result_folders
from tests.helpers.result_folders import cell

SUITES = sorted(path.stem for path in suites.find("configs/suites").glob("*.yaml"))
GAUSSIAN = "stochastic LWTA (Gaussians)"


def made(runs, name):
    return tables.table(suites.load(name), collect.collect(runs))


def entry(table, row, column, group=0, variant=None):
    return next(e for e in table.groups[group][1] if (e.row, e.column) == (row, column) and variant in (None, e.variant))


@pytest.fixture
def runs(tmp_path):
    """Three seeds of one cell of table 5, one of another."""
    for seed, value in enumerate((90.0, 91.0, 95.0)):
        result_folders.write(tmp_path, cell("table5", GAUSSIAN, "omniglot_20w1s"), value, seed=seed)
    result_folders.write(tmp_path, cell("table5", "ReLU (Gaussians)", "omniglot_20w5s"), 80.0)
    return tmp_path


def test_a_cell_has_ours_the_papers_and_the_difference(runs):
    found = entry(made(runs, "table5"), GAUSSIAN, "omniglot_20w1s")
    assert found.ours == pytest.approx(92.0)
    assert (found.paper, found.difference) == (97.79, pytest.approx(92.0 - 97.79))
    assert found.high - 92.0 == pytest.approx(4.302653 * (7 / 3) ** 0.5)  # t of 2 degrees of freedom: the tasks' ± 0.5 is little beside it
    assert found.high - 92.0 == pytest.approx(92.0 - found.low)
    assert found.seed_std == pytest.approx(7**0.5)  # of 90, 91, 95
    assert (found.seeds, found.iterations, found.tasks) == ((0, 1, 2), 60000, 600)
    assert found.made_by == "train.py --config configs/omniglot_20w1s.yaml --set seed=0"
    assert entry(made(runs, "table5"), "ReLU (Gaussians)", "omniglot_20w5s").seed_std is None


def test_a_missing_cell_names_its_command(runs):
    text = render.markdown(made(runs, "table5")).replace(str(runs), "results/runs")
    command = "python train.py --config configs/omniglot_20w1s.yaml --set name=omniglot_20w1s_relu_point network.activation=relu "
    assert (
        f"- ReLU (point estimates), omniglot_20w1s: `{command}network.weights=point --out results/runs/omniglot_20w1s_relu_point-seed0`"
        in text
    )
    assert f"- {GAUSSIAN}, omniglot_20w5s: `python train.py --config configs/omniglot_20w5s.yaml --out" in text
    assert f"- {GAUSSIAN}, omniglot_20w1s" not in text


def test_the_command_begins_with_what_is_there(tmp_path):
    own = cell("figure3c", "2", "omniglot_20w1s")
    folder = result_folders.write(tmp_path, cell("figure3c", "4", "omniglot_20w1s"), 50.0)
    test = f"python evaluate.py --run {folder} --set evaluation.draws=2 --out {folder}/evaluation-draws2.json"
    assert tables.run_command(own, None, tmp_path) == f"python train.py --resume --out {folder} && {test}"
    (folder / "model.keras").touch()
    assert tables.run_command(own, None, tmp_path) == test
    assert tables.run_command(cell("figure3c", "4", "omniglot_20w1s"), None, tmp_path) == f"python evaluate.py --run {folder}"
    wrong = cell("table1", "Reptile", "omniglot_20w1s")
    wrong = wrong._replace(row=wrong.row.model_copy(update={"set": {"learner.inner_lr": 0.1}}))
    folder = result_folders.write(tmp_path, wrong, 50.0)
    command = tables.run_command(cell("table1", "Reptile", "omniglot_20w1s"), None, tmp_path)
    assert command == f"python train.py --config configs/omniglot_20w1s_reptile.yaml --out {folder}-2"
    other = match.Group("standard", "original_code", "support")
    folder = tmp_path / "omniglot_20w1s_maml-seed0-original_code-support"
    assert tables.run_command(cell("table1", "MAML", "omniglot_20w1s"), other, tmp_path) == (
        "python train.py --config configs/omniglot_20w1s_maml.yaml --set task.protocol=original_code learner.batch_statistics=support "
        f"--out {folder} && python evaluate.py --run {folder} --protocol standard"
    )


@pytest.mark.parametrize("form", render.FORMATS)
def test_a_table_made_twice_is_the_same_byte_for_byte(runs, form):
    files = []
    for name in "ab":
        out = runs / name
        assert evaluate.main(["--table", "5", "--runs", str(runs), "--format", form, "--out", str(out)]) == 0
        files.append(out.read_bytes())
    assert files[0] == files[1]
    assert b"92.0" in files[0]


def test_the_page_made_twice_is_the_same_byte_for_byte(runs):
    assert evaluate.main(["--page", "--runs", str(runs)]) == 0
    first = (runs / "README.md").read_bytes()
    assert evaluate.main(["--page", "--runs", str(runs)]) == 0
    assert (runs / "README.md").read_bytes() == first
    assert "92.00 ± 6.57 / 97.79 / −5.79" in first.decode()
    assert page.page(collect.collect(runs), runs)[0].encode() == first


def test_the_page_begins_with_what_was_written_about_the_results(runs):
    (runs / "reading.md").write_text("## In words\n\nCompeting units win.\n")
    text, _ = page.page(collect.collect(runs), runs)
    assert text.index("# Results") < text.index("## In words\n\nCompeting units win.\n\n## Table") < text.index("## Every run")


def test_the_readmes_table_is_that_of_the_kept_results():
    root = REPOSITORY
    text = render.markdown(made(root / "results", "summary"))
    grid = next(block for block in text.split("\n\n") if block.startswith("| ours / paper / difference"))
    assert grid in (root / "README.md").read_text(encoding="utf-8")


def test_protocols_and_batch_statistics_are_kept_apart(tmp_path):
    dense, conv = cell("table1", "StochLWTA-ML", "omniglot_20w1s", "the paper's settings"), cell("table1", "MAML", "omniglot_20w1s")
    result_folders.write(tmp_path, dense, 50.0, folder="a")
    result_folders.write(tmp_path, dense, 60.0, protocol="paper", folder="b")
    result_folders.write(tmp_path, dense, 70.0, protocol="standard", trained="paper", folder="b")
    result_folders.write(tmp_path, conv, 80.0, statistics="transductive", folder="c")
    result_folders.write(tmp_path, conv, 30.0, statistics="support", folder="d")
    table = made(tmp_path, "table1")
    found = {}
    for number, (group, _) in enumerate(table.groups):
        values = entry(table, "StochLWTA-ML", "omniglot_20w1s", number).ours, entry(table, "MAML", "omniglot_20w1s", number).ours
        found[tuple(group)] = values
    assert found == {
        ("standard", "standard", "transductive"): (50.0, 80.0),
        ("standard", "standard", "support"): (50.0, 30.0),
        ("paper", "paper", None): (60.0, None),
        ("standard", "paper", None): (70.0, None),
    }
    text = render.markdown(table)
    assert "## Protocol standard (trained under paper), no batch normalisation" in text
    assert f"--set task.protocol=paper --out {tmp_path}/omniglot_20w1s_maml-seed0-paper`" in text


def test_a_run_with_other_options_is_named_and_fills_no_cell(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    other = own._replace(row=own.row.model_copy(update={"set": {"learner.inner_lr": 0.1}}))
    result_folders.write(tmp_path, other, 99.0)
    table = made(tmp_path, "table5")
    assert entry(table, GAUSSIAN, "omniglot_20w1s").ours is None
    assert table.notes == (
        "omniglot_20w1s-seed0: not omniglot_20w1s as configs/omniglot_20w1s.yaml has it: learner.inner_lr=0.003. "
        "Received: learner.inner_lr=0.1.",
    )


def test_a_run_that_was_tested_otherwise_is_named_and_fills_no_cell(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    evaluation = {**own.load().resolved()["evaluation"], "draws": 16}
    result_folders.write(tmp_path, own, 99.0, evaluation=evaluation, draws=16)
    table = made(tmp_path, "table5")
    assert entry(table, GAUSSIAN, "omniglot_20w1s").ours is None
    assert table.notes == (
        "omniglot_20w1s-seed0: not omniglot_20w1s as configs/omniglot_20w1s.yaml has it: evaluation.draws=4. "
        "Received: evaluation.draws=16.",
    )


def test_the_longest_runs_count(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    result_folders.write(tmp_path, own, 40.0, iterations=100, folder="short")
    result_folders.write(tmp_path, own, 60.0, iterations=300, folder="long")
    result_folders.write(tmp_path, own, 99.0, iterations=300, folder="same")
    table = made(tmp_path, "table5")
    assert (entry(table, GAUSSIAN, "omniglot_20w1s").ours, entry(table, GAUSSIAN, "omniglot_20w1s").iterations) == (60.0, 300)
    assert table.notes == (
        "same/evaluation.json: not used, long/evaluation.json is the same experiment with the same seed.",
        "short/evaluation.json: not used, there are longer runs of it (300 iterations).",
    )


def test_the_test_with_most_tasks_counts_and_one_on_other_tasks_does_not(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    folder = result_folders.write(tmp_path, own, 60.0)
    quick, whole = (json.loads((folder / "evaluation.json").read_text()) for _ in range(2))
    quick["measures"]["accuracy"]["value"], quick["tasks"] = 11.0, 20
    (folder / "evaluation-a.json").write_text(json.dumps(quick))
    whole["measures"]["accuracy"]["value"], whole["evaluation"]["seed"], whole["tasks"] = 12.0, 7, 6000
    (folder / "evaluation-b.json").write_text(json.dumps(whole))
    table = made(tmp_path, "table5")
    assert (entry(table, GAUSSIAN, "omniglot_20w1s").ours, entry(table, GAUSSIAN, "omniglot_20w1s").tasks) == (60.0, 600)
    assert table.notes == (
        "omniglot_20w1s-seed0/evaluation-a.json: not used, omniglot_20w1s-seed0/evaluation.json is the same experiment with the same seed.",
    )


def test_one_training_tested_with_other_draws_fills_other_cells(tmp_path):
    for b, value in ((4, 50.0), (1, 40.0)):
        result_folders.write(tmp_path, cell("figure3c", str(b), "omniglot_20w1s"), value)
    table = made(tmp_path, "figure3c")
    assert [entry(table, str(b), "omniglot_20w1s").ours for b in (1, 2, 4)] == [40.0, None, 50.0]
    assert entry(table, "2", "omniglot_20w1s").fill_by.endswith(
        f"&& python evaluate.py --run {tmp_path}/omniglot_20w1s-seed0 --set evaluation.draws=2 "
        f"--out {tmp_path}/omniglot_20w1s-seed0/evaluation-draws2.json"
    )


def test_a_measure_after_a_number_of_inner_steps(tmp_path):
    after = {"10": {"mse": {"value": 0.1, "ci95": 0.02, "unit": ""}}}
    result_folders.write(tmp_path, cell("regression", "MAML", "default, own"), 0.3, after_steps=after)
    table = made(tmp_path, "regression")
    assert (entry(table, "MAML", "default, own").ours, entry(table, "MAML", "default, 10").ours) == (0.3, 0.1)
    untested = entry(table, "MAML", "default, 5")
    assert untested.ours is None and untested.lacking == ("sinusoid_default_maml-seed0",)
    assert "or did not measure it:\n\n- MAML, default, 0: sinusoid_default_maml-seed0\n" in render.markdown(table)


def test_a_cell_with_diverged_tasks_shows_the_median_and_no_difference(tmp_path):
    own = cell("figure4a", "MAML", "sinusoid_default")
    for seed, (value, median, diverged) in enumerate(((0.5, 0.4, 0), (1e5, 0.42, 3))):
        row = {"value": value, "ci95": 0.1, "unit": "", "median": median, **({"diverged": diverged} if diverged else {})}
        result_folders.write(tmp_path, own, 0.0, seed=seed, measures={"mse": row})
    found = made(tmp_path, "figure4a")
    assert entry(found, "MAML", "sinusoid_default").difference is None
    text = render.markdown(found)
    assert "| median 0.410 (3 of 1,200 tasks diverged) / 1.050 |" in re.sub(" +", " ", text)
    assert "100000" not in text and "50000" not in text


def test_what_an_old_file_says_of_the_papers_number_is_not_read(tmp_path):
    own = cell("tableD1", "MAML", "accuracy", "small convolutions")
    row = {"value": 36.0, "ci95": 0.5, "unit": "%", "paper": 95.48, "paper_source": "table 1", "difference": -59.48}
    result_folders.write(tmp_path, own, 0.0, measures={"accuracy": row})
    found = entry(made(tmp_path, "tableD1"), "MAML", "accuracy", variant="small convolutions")
    assert (found.ours, found.paper, found.difference) == (36.0, None, None)
    assert "95.48" not in page.page(collect.collect(tmp_path), tmp_path)[0]


def test_a_table_says_whose_splits_its_accuracies_are_of(runs, tmp_path):
    assert "Protocol `standard` has other test classes than the paper's own splits" in render.markdown(made(runs, "table5"))
    result_folders.write(tmp_path / "other", cell("regression", "MAML", "default, own"), 0.3)
    assert "own splits" not in render.markdown(made(tmp_path / "other", "regression"))


def test_two_results_on_the_same_tasks_are_compared_in_pairs(tmp_path):
    own = cell("table5", GAUSSIAN, "omniglot_20w1s")
    result_folders.write(tmp_path, own, 2.0, folder="a", per_task={"accuracy": [1.0, 2.0, None, 4.0]}, tasks=4)
    result_folders.write(tmp_path, own, 1.0, folder="b", per_task={"accuracy": [0.0, 1.0, 9.0, 3.0]}, tasks=4)
    result_folders.write(tmp_path, own, 1.0, folder="c", tasks=4)
    result_folders.write(tmp_path, own, 1.0, folder="d", per_task={"accuracy": [1.0, 2.0]}, tasks=2)
    a, b, c, d = collect.collect(tmp_path).results
    assert match.paired(a, b, "accuracy") == (1.0, 0.0)
    for other, message in ((c, "per_task must have accuracy. Received: nothing."), (d, "needs two tests on the same tasks.")):
        with pytest.raises(ConfigurationError, match=message):
            match.paired(a, other, "accuracy")


@pytest.mark.parametrize("name", SUITES)
def test_stochastic_units_are_tested_with_several_draws_whatever_the_learner(name):
    for each in suites.load(name).cells():
        if each.exists and not each.row.test:
            config = each.load()
            if getattr(config.network, "activation", None) == "stochastic_lwta" and config.learner.name != "stochlwta":
                draws = config.learner.draws or config.learner.particles  # BMAML: one of each particle
                assert draws == (4 if config.learner.name != "bmaml" else 5), f"{each.row.full_label}, {each.column.label}"


def test_table_d1_is_of_the_papers_dense_networks():
    own = cell("tableD1", "StochLWTA-ML", "accuracy").load().network
    for row in suites.load("tableD1").rows:
        if row.paper is None and row.label != "StochLWTA-ML":
            network = cell("tableD1", row.label, "accuracy", row.variant).load().network
            assert (network.name, network.activation, network.weights) == ("dense_lwta", "relu", "point"), row.label
            assert (network.blocks, network.competitors, network.input_scale) == (own.blocks, own.competitors, own.input_scale)


@pytest.mark.parametrize(("variant", "number"), [("the paper's size", 115925), ("the paper's size, point weights", 112005)])
def test_table_d2_has_networks_of_the_papers_size(variant, number):
    config = cell("tableD2", "StochLWTA-ML", "params, 5-way", variant).load()
    network = networks.conv4((28, 28, 1), 5, **config.network.options())
    assert networks.trainable_parameters(network) == number
    nearer = [networks.conv4((28, 28, 1), 5, **{**config.network.options(), "filters": config.network.filters + d}) for d in (-2, 2)]
    assert all(abs(networks.trainable_parameters(other) - 112005) > abs(number - 112005) for other in nearer)


def test_csv_has_a_line_for_each_cell_and_the_literature(runs):
    lines = list(csv.DictReader(io.StringIO(render.comma_separated(made(runs, "table1")))))
    quoted = [(line["row"], line["column"], line["paper"]) for line in lines if line["variant"] == "literature"]
    assert ("GEM-BML+", "omniglot_20w1s", "96.24") in quoted
    own = [line for line in lines if line["ours"]]
    assert [(line["row"], line["protocol"], line["seeds"], line["iterations"]) for line in own] == [
        ("StochLWTA-ML", "standard", "0 1 2", "60000")
    ]


def test_latex_says_what_its_cells_are_of(runs):
    text = render.latex(made(runs, "table1"))
    assert r"92.00 $\pm$ 6.57 / 97.79 ($\sigma$ 0.48) / $-$5.79" in text
    assert r"\& " not in text and "σ" not in "".join(line for line in text.splitlines() if not line.startswith("%"))
    assert "StochLWTA-ML (the paper's settings), omniglot\\_20w1s & 92.00 $\\pm$ 6.57 \\% & 2.65 & 0, 1, 2 & 60,000 & 600 &" in text
    assert "% - MAML, omniglot_20w1s: `python train.py --config configs/omniglot_20w1s_maml.yaml --out" in text


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


@pytest.mark.parametrize("name", SUITES)
def test_every_suite_of_this_version_is_valid(name):
    suite = suites.load(name)
    for each in suite.cells():
        if each.exists:
            assert each.row.name is None or each.load().name == each.row.name.format(task=each.task)


@pytest.mark.parametrize(
    ("suite", "row", "column", "variant", "number"),
    [
        ("table1", "StochLWTA-ML", "omniglot_20w5s", "the paper's settings", 98.97),
        ("table1", "BMAML", "cifar100_5w5s", None, 65.80),
        ("table2", "MAML", "miniimagenet_5w5s", "stochastic", 64.03),
        ("table3", "BMAML", "params_omniglot", None, 560025),
        ("table3", "StochLWTA-ML", "predict_ms", None, 113.44),
        ("table4", "J=8", "miniimagenet_5w5s", None, 67.08),
        ("table6", "Reptile", "params", None, 4353),
        ("table6", "StochLWTA-ML", "MSE, challenging", None, 1.98),
        ("table3", "BMAML", "params_omniglot, stored", None, None),
        ("table3", "StochLWTA-ML", "params_omniglot", None, None),  # 54,549 is what is stored
        ("table3", "StochLWTA-ML", "params_omniglot, stored", None, 54549),
        ("table3", "MAML", "train_ms", None, None),  # of another number of tasks than the paper's 50
        ("table3", "MAML", "train_ms, 50 tasks", None, 288.25),
        ("tableD1", "FOMAML", "accuracy", "dense ReLU", 92.83),
        ("tableD1", "FOMAML", "accuracy", "small convolutions", None),
        ("tableD1", "StochLWTA-ML", "params", None, None),
        ("tableD1", "StochLWTA-ML", "params, stored", None, 54549),
        ("tableD2", "StochLWTA-ML", "omniglot_20w1s", "the paper's size", 96.50),
        ("tableD2", "StochLWTA-ML", "params, 5-way", "the paper's size, point weights", 112005),
        ("figure2", "ABML", "omniglot_20w1s", None, 47.3),
        ("figure3a", "65", "miniimagenet_5w1s", None, 52.2),
        ("figure3a", "65", "omniglot_20w1s", None, None),
        ("figure3c", "9", "omniglot_20w1s", None, 96.1),
        ("smoke", "MAML", "sinusoid_default", None, None),
    ],
)
def test_the_papers_number_of_a_cell(suite, row, column, variant, number):
    assert paper_cell.reported(cell(suite, row, column, variant))[0] == number


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--table", "7"], "unknown suite 7."),
        (["--table", "5", "--format", "html"], "--format must be markdown, csv, latex. Received: --format html."),
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
