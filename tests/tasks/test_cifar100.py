import numpy as np
import pytest

pytest.importorskip("tensorflow_datasets")

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import Cifar100
from stochlwta_tf.tasks.class_lists import class_list

SPLITS = ("train", "validation", "test")


@pytest.fixture(scope="module")
def data(prepared):
    return prepared("cifar100")


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STOCHLWTA_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


@pytest.fixture(scope="module")
def paper(data):
    return {split: Cifar100(split, batch=2, seed=0, protocol="paper") for split in SPLITS}


def test_class_lists_are_disjoint_and_complete():
    sizes = {"cifar_fs": (64, 16, 20), "fc100": (60, 20, 20)}
    for name, expected in sizes.items():
        lists = class_list(name)
        assert tuple(len(lists[split]) for split in SPLITS) == expected and len({n for names in lists.values() for n in names}) == 100
    assert {n for names in class_list("fc100").values() for n in names} == {n for names in class_list("cifar_fs").values() for n in names}


@pytest.mark.parametrize(("splits", "sizes"), [("cifar_fs", (64, 16, 20)), ("fc100", (60, 20, 20))])
@pytest.mark.parametrize("protocol", ["standard", "original_code"])
def test_standard_splits_are_the_lists(paper, splits, sizes, protocol):
    banks = [Cifar100(split, batch=2, seed=0, splits=splits, protocol=protocol).bank for split in SPLITS]
    for bank, split, size in zip(banks, SPLITS, sizes):
        assert bank.names == tuple(class_list(splits)[split]) and len(bank) == size and set(bank.count) == {600}


def test_paper_has_all_classes_and_divides_the_images(paper):
    for split, count in (("train", 500), ("validation", 500), ("test", 100)):
        bank = paper[split].bank
        assert len(bank) == 100 and set(bank.count) == {count} and bank.images.shape == (60000, *Cifar100.input_shape) == (60000, 32, 32, 3)
    assert paper["train"].bank.tensor is paper["test"].bank.tensor  # held once


def test_channel_means_are_those_of_the_training_images(paper):
    bank = paper["train"].bank
    histogram = sum(np.stack([np.bincount(c.ravel(), minlength=256) for c in np.moveaxis(bank.of(n), -1, 0)]) for n in bank.names)
    values = np.arange(256) / 255
    mean = histogram @ values / 50000 / 32**2
    std = np.sqrt(histogram @ values**2 / 50000 / 32**2 - mean**2)
    np.testing.assert_allclose(mean, [0.50708, 0.48655, 0.44092], atol=5e-6)
    np.testing.assert_allclose(std, [0.26733, 0.25644, 0.27615], atol=6e-6)


def test_images_are_with_their_labels(data, paper):
    for source, split in (("train", "train"), ("test", "test")):
        for example in data.as_dataset(split=f"{source}[:20]").as_numpy_iterator():
            of_class = paper[split].bank.of(data.info.features["label"].int2str(example["label"]))
            assert np.any(np.all(of_class == example["image"], axis=(1, 2, 3)))


def test_missing_data_is_one_line_that_names_the_folder(tmp_path, monkeypatch):
    def offline(*_, **__):
        raise ConnectionError("no route to host")

    monkeypatch.setenv("STOCHLWTA_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("urllib.request.urlopen", offline)
    with pytest.raises(DataError, match=f"CIFAR-100 is not in {tmp_path}.*no route to host.*holds cifar100/") as error:
        Cifar100("train", batch=2, seed=0, data_dir=str(tmp_path))
    assert "\n" not in str(error.value)


def test_wrong_option_is_named():
    with pytest.raises(ConfigurationError, match="splits must be one of cifar_fs, fc100. Received: splits=cifar."):
        Cifar100("train", batch=2, seed=0, splits="cifar")
