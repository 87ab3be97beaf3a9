"""Trained models for use: loading them, and pictures as they were trained on."""

import numpy as np
import pytest
from PIL import Image

import stochlwta_tf
from stochlwta_tf import networks
from stochlwta_tf.errors import DataError, UserError
from stochlwta_tf.learners import FOMAML
from stochlwta_tf.tasks import Omniglot, Sinusoid
from tests.helpers.coloured_pictures import colour_learner, picture


def test_a_learner_is_loaded_from_its_file_with_what_it_was_trained_on(tmp_path):
    learner = colour_learner()
    learner.trained_on = {"task": {"name": "image_folder", "size": 8, "channels": 3}, "classes": ["red", "grün"]}
    learner.with_options(inner_steps=2).save(tmp_path / "model.keras")
    loaded = stochlwta_tf.load(tmp_path / "model.keras")
    assert (loaded.trained_on, loaded.inner_steps) == (learner.trained_on, 2)
    assert colour_learner().trained_on == {}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda path: None, "is the folder of a run, a .keras file or one of .*omniglot_5w1s, .*Received: .*, which does not exist."),
        (lambda path: path.mkdir(), "config.yaml|not a run|model.keras"),
        (
            lambda path: networks.mlp((2,), 1, units=(2,)).save(path),
            "must be a learner that train.py saved. Received: a model of the class Functional",
        ),
    ],
    ids=["nothing", "an empty folder", "another model"],
)
def test_what_is_no_trained_learner_is_one_line(tmp_path, make, message):
    make(tmp_path / "x.keras")
    with pytest.raises(UserError, match=message) as raised:
        stochlwta_tf.load(tmp_path / "x.keras")
    assert "\n" not in str(raised.value)


def test_pictures_have_the_input_of_the_network(tmp_path):
    picture("red", 0, (20, 12)).save(tmp_path / "a.png")
    picture("red", 0, (20, 12)).convert("P").save(tmp_path / "b.gif")
    x = stochlwta_tf.read_pictures(colour_learner(), [tmp_path / "a.png", str(tmp_path / "b.gif")])
    assert (x.shape, x.dtype) == ((2, 8, 8, 3), np.float32)
    expected = np.asarray(picture("red", 0, (20, 12)).resize((8, 8), Image.Resampling.LANCZOS)) / 255
    np.testing.assert_allclose(x[0], expected, atol=1e-6)
    assert stochlwta_tf.read_pictures(colour_learner(), []).shape == (0, 8, 8, 3)


def test_all_damaged_pictures_are_named(tmp_path):
    picture("red", 0).save(tmp_path / "good.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "good.png").read_bytes()[:60])
    (tmp_path / "text.jpg").write_text("no picture")
    files = [tmp_path / name for name in ("good.png", "cut.png", "text.jpg", "none.png")]
    with pytest.raises(DataError, match=r"cut.png: cannot be decoded.*\(3 such files: .*cut.png, .*text.jpg, .*none.png\)"):
        stochlwta_tf.read_pictures(colour_learner(), files)


def test_a_learner_of_other_inputs_reads_no_pictures():
    learner = FOMAML(networks.mlp(Sinusoid.input_shape, 1, units=(2,)), likelihood="gaussian")
    with pytest.raises(UserError, match=r"whose inputs are square images with 1 or 3 channels. Received: inputs of shape \(1,\)."):
        stochlwta_tf.read_pictures(learner, ["a.png"])


def test_characters_drawn_from_fonts_are_bright_on_dark(tmp_path):
    drawing = Image.new("L", (28, 28), "white")
    drawing.putpixel((3, 5), 0)
    drawing.save(tmp_path / "a.png")
    learner = FOMAML(networks.mlp((28, 28, 1), 2, units=(2,)))
    learner.trained_on = {"task": {"name": "glyphs"}}
    x = stochlwta_tf.read_pictures(learner, [tmp_path / "a.png"])
    assert x[0, 5, 3, 0] == 1 and x.sum() == 1


def test_a_drawing_of_omniglot_is_that_of_the_data_set(tmp_path, prepared):
    builder = prepared("omniglot")
    example = next(iter(builder.as_dataset(split="train", shuffle_files=False).take(1).as_numpy_iterator()))
    Image.fromarray(example["image"]).save(tmp_path / "a.png")
    learner = FOMAML(networks.mlp((28, 28, 1), 5, units=(2,)))
    learner.trained_on = {"task": {"name": "omniglot", "invert": True, "antialias": True}}
    x = np.rint(stochlwta_tf.read_pictures(learner, [tmp_path / "a.png"])[0] * 255)
    bank = Omniglot("train", 1, 0, validation_classes=0).bank
    i = bank.names.index(f"background/{builder.info.features['label'].int2str(int(example['label']))}")
    images = np.asarray(bank.images[bank.first[i] : bank.first[i] + bank.count[i]], "float32")
    assert np.abs(images - x).max((1, 2, 3)).min() <= 1  # the data set's drawings are in colour, and resized alike
