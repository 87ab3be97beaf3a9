"""The commands that fill an empty cell."""

from stochlwta_tf.report import match, render, tables
from tests.helpers import result_folders
from tests.helpers.result_folders import GAUSSIAN, cell


def test_a_missing_cell_names_its_command(runs):
    text = render.markdown(result_folders.table(runs, "table5")).replace(str(runs), "results/runs")
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
