"""The command that looks for duplicates."""

from stochlwta_tf.cli.duplicates import main


def test_command_prints_a_table_and_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    from PIL import Image

    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    for c in range(3):
        (tmp_path / "data" / f"c{c}").mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (4, 4), (c if i else 9, i, 0)).save(tmp_path / "data" / f"c{c}" / f"{i}.png")
    (tmp_path / "c.yaml").write_text(
        "{name: x, task: {name: image_folder, data_dir: D, size: 4, class_split: [1, 1, 1], way: 1, queries: 1}, network: {name: mlp},"
        " learner: {name: maml}, optimizer: {name: sgd, learning_rate: 1}, training: {iterations: 100, meta_batch_size: 1}}"
    )
    command = ["--config", str(tmp_path / "c.yaml"), "--set"]
    assert main([*command, f"task.data_dir={tmp_path / 'data'}"]) == 0
    printed = capsys.readouterr().out
    assert "Images that occur twice, pixel for pixel: 2; of them in two splits: 2." in printed and "validation" in printed
    assert main([*command, "task.data_dir=nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert main([*command[:2], "--set", 'task={name: "sinusoid"}']) == 2
    assert "only image tasks can be checked for duplicates. Received: task.name=sinusoid." in capsys.readouterr().err
