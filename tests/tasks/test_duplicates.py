import numpy as np
import pytest

from stochlwta_tf.cli.duplicates import main
from stochlwta_tf.tasks import ClassBank, omniglot
from stochlwta_tf.tasks.duplicates import Place, distinct, duplicates


def bank(values, names):
    images = np.array(values, "uint8").reshape(-1, 1, 1, 1)
    count = np.full(len(names), len(values) // len(names))
    return ClassBank(images, np.cumsum(count) - count, count, names)


def test_pairs_within_and_across_splits():
    found = duplicates({"train": bank([1, 2, 3, 2], "ab"), "test": bank([4, 3, 3, 5], "cd")})
    assert found == [
        (Place("train", "a", 1), Place("train", "b", 1)),
        (Place("train", "b", 0), Place("test", "c", 1)),
        (Place("train", "b", 0), Place("test", "d", 0)),
    ]


def test_an_image_of_two_splits_is_one_image():
    whole = bank([1, 2, 3, 4], "ab")
    assert duplicates({"train": whole, "validation": whole, "test": whole.subset("b")}) == []


def test_distinct_images_are_the_first_of_their_class():
    assert distinct(bank([7, 5, 7, 5, 7, 7], "ab")).tolist() == [0, 1, 3, 4]
    assert distinct(bank([1, 2, 3, 4], "ab")).tolist() == [0, 1, 2, 3]


def test_command_prints_a_table_and_says_what_is_wrong(tmp_path, capsys, monkeypatch):
    from PIL import Image

    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    for c in range(3):
        (tmp_path / "data" / f"c{c}").mkdir(parents=True)
        for i in range(2):
            Image.new("RGB", (4, 4), (c if i else 9, i, 0)).save(tmp_path / "data" / f"c{c}" / f"{i}.png")
    (tmp_path / "c.yaml").write_text(
        "{name: x, task: {name: image_folder, data_dir: D, size: 4, class_split: [1, 1, 1], way: 1, queries: 1}, network: {name: mlp},"
        " learner: {name: maml}, optimizer: {name: sgd, learning_rate: 1}, training: {iterations: 100, batch: 1}}"
    )
    command = ["--config", str(tmp_path / "c.yaml"), "--set"]
    assert main([*command, f"task.data_dir={tmp_path / 'data'}"]) == 0
    printed = capsys.readouterr().out
    assert "2 images occur twice, pixel for pixel; 2 of them in two splits." in printed and "validation" in printed
    assert main([*command, "task.data_dir=nowhere"]) == 2
    assert capsys.readouterr().err.startswith("error: ")
    assert main([*command[:2], "--set", 'task={name: "sinusoid"}']) == 2
    assert "duplicates are looked for among images. Received: task.name=sinusoid." in capsys.readouterr().err


def test_omniglot_has_one_duplicate_as_it_comes():
    """At 105x105, label 191, as the data set is known to have; and the same pair at 28x28."""
    tfds = pytest.importorskip("tensorflow_datasets")
    builder = tfds.builder("omniglot")
    if not builder.is_prepared():
        pytest.skip(f"Omniglot is not in {builder.data_dir}; set TFDS_DATA_DIR to the folder that holds omniglot/")
    data = builder.as_dataset(split="train", decoders={"image": tfds.decode.SkipDecoding()}).filter(lambda e: e["label"] == 191)
    raw = np.stack([builder.info.features["image"].decode_example(e["image"]).numpy()[..., :1] for e in data])
    name = builder.info.features["label"].int2str(191)
    found = duplicates({"train": ClassBank(raw, [0], [20], [f"background/{name}"])})
    assert len(found) == 1 and raw.shape == (20, 105, 105, 1)
    assert duplicates({"all": omniglot.load()}) == [tuple(Place("all", *place[1:]) for place in found[0])]
