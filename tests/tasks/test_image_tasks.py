import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from stochlwta_tf.errors import ConfigurationError, DataError
from stochlwta_tf.tasks import ClassBank, ImageTasks

COUNT = np.array([6, 9, 7, 12, 8])


def bank(count=COUNT, first_class=0):
    """The two channels of every pixel tell class and image."""
    classes = np.repeat(np.arange(len(count)), count)
    numbers = np.concatenate([np.arange(n) for n in count])
    images = np.stack([classes + first_class, numbers], axis=-1).astype("uint8")
    names = [f"class {first_class + c}" for c in range(len(count))]
    return ClassBank(np.tile(images[:, None, None], (1, 2, 2, 1)), np.cumsum(count) - count, count, names)


def make(split="train", batch=2000, seed=0, banks=None, **options):
    return ImageTasks(banks or {"train": bank()}, split, batch, seed, **{"way": 3, "shot": 2, "queries": 3, **options})


def decode(x, way):
    """Class and image number, each `[tasks, way, images]`."""
    pixels = np.rint(np.asarray(x)[:, :, 0, 0] * 255).astype(int)
    return np.moveaxis(pixels.reshape(len(pixels), way, -1, 2), -1, 0)


def sample(tasks, index=0):
    task = tasks.sample(index)
    return *decode(task.support_x, tasks.way), *decode(task.query_x, tasks.way), task


def uniform(counts):
    """Whether counts pass a chi-square test of equal probabilities."""
    return stats.chisquare(counts).pvalue > 1e-3


def test_shapes_and_order():
    tasks = make(batch=4)
    task = tasks.sample(0)
    assert tasks.kind == "classification" and tasks.input_shape == (2, 2, 2) and tasks.outputs == 3
    assert task.support_x.shape == (4, 6, 2, 2, 2) and task.query_x.shape == (4, 9, 2, 2, 2) and task.key.shape == (4, 2)
    assert task.support_x.dtype == tf.float32 and task.support_y.dtype == tf.int32 and task.key.dtype == tf.uint32
    np.testing.assert_array_equal(task.support_y, [[0, 0, 1, 1, 2, 2]] * 4)
    np.testing.assert_array_equal(task.query_y, [[0, 0, 0, 1, 1, 1, 2, 2, 2]] * 4)
    assert len({tuple(k) for k in task.key.numpy()}) == 4


def test_pixels_are_the_banks_over_255():
    images = np.random.RandomState(0).randint(0, 256, (4, 3, 3, 1)).astype("uint8")
    task = ImageTasks({"test": ClassBank(images, [0, 2], [2, 2], "ab")}, "test", 1, 0, way=2, shot=1, queries=1).sample(0)
    seen = np.sort(tf.concat([task.support_x, task.query_x], 1)[0], axis=0)
    np.testing.assert_array_equal(seen, np.sort(images.astype("float32") / np.float32(255), axis=0))


def test_classes_are_distinct_and_support_and_query_disjoint():
    support_class, support_image, query_class, query_image, _ = sample(make())
    for classes in (support_class, query_class):
        assert np.all(classes == support_class[..., :1])
    assert np.all([len(set(c)) == 3 for c in support_class[..., 0]])
    images = np.concatenate([support_image, query_image], axis=-1)
    assert np.all(np.diff(np.sort(images, axis=-1), axis=-1) > 0)
    assert np.all(images < COUNT[support_class[..., :1]])


def test_classes_labels_and_images_are_uniform():
    support_class, support_image, _, query_image, _ = sample(make(batch=6000))
    classes = support_class[..., 0]
    triples = np.unique(classes, axis=0, return_counts=True)[1]
    assert len(triples) == 60 and uniform(triples)  # every ordered choice of 3 of 5 classes, so every label of every class
    for c, n in enumerate(COUNT):
        # One image a task: the images of one task are not independent.
        assert uniform(np.bincount(support_image[classes == c][:, 0], minlength=n))
        assert uniform(np.bincount(query_image[classes == c][:, -1], minlength=n))
        pairs = support_image[classes == c]
        assert uniform(np.bincount(pairs[:, 0] * n + pairs[:, 1], minlength=n * n)[~np.eye(n, dtype=bool).ravel()])


def test_tasks_of_a_batch_and_batches_are_independent():
    tasks = make(batch=2, way=1, shot=1, queries=0)
    function = tf.function(lambda i: tasks.sample(i).support_x)
    pair = np.stack([decode(function(tf.constant(i)), 1)[0].ravel() for i in range(1500)])
    assert uniform(np.bincount(pair[:, 0] * 5 + pair[:, 1], minlength=25))
    assert uniform(np.bincount(pair[1:, 0] * 5 + pair[:-1, 0], minlength=25))


def test_a_batch_is_a_function_of_split_seed_and_index():
    def first(index=3, **options):
        return make(batch=8, banks={"train": bank(), "validation": bank()}, **options).sample(index)

    for a, b in zip(first(), first(), strict=True):
        np.testing.assert_array_equal(a, b)
    for other in (first(index=4), first(seed=1), first(split="validation"), first(index=3 + 2**32)):
        assert np.any(first().support_x != other.support_x) and np.all(first().key != other.key)


def test_dataset_equals_samples_and_starts_anywhere():
    tasks = make(batch=3)
    batches = list(tasks.dataset(5, 8))
    assert len(batches) == 3
    for i, batch in enumerate(batches):
        for name, value in tasks.sample(5 + i)._asdict().items():
            np.testing.assert_array_equal(batch[name], value)


def test_the_graph_does_not_hold_the_bank():
    images = np.zeros((4000, 16, 16, 1), "uint8")
    tasks = ImageTasks({"train": ClassBank(images, range(0, 4000, 20), [20] * 200, map(str, range(200)))}, "train", 2, 0)
    graph = tf.function(tasks.sample).get_concrete_function(tf.TensorSpec([], tf.int64)).graph.as_graph_def()
    assert graph.ByteSize() < images.nbytes / 5
    batches = iter(tasks.dataset())
    del tasks
    assert next(batches)["support_x"].shape == (2, 5, 16, 16, 1)


def test_no_queries():
    task = make(batch=4, queries=0).sample(0)
    assert task.query_x.shape == (4, 0, 2, 2, 2) and task.query_y.shape == (4, 0) and task.support_x.shape == (4, 6, 2, 2, 2)


def test_train_split_may_have_other_shots_and_queries():
    banks = {"train": bank(), "test": bank(first_class=100)}
    train, test = (make(split, banks=banks, train_shot=5, train_queries=0) for split in ("train", "test"))
    assert (train.shot, train.queries, test.shot, test.queries) == (5, 0, 2, 3)


def test_splits_use_their_own_classes():
    banks = {"train": bank(), "test": bank(first_class=100)}
    assert sample(make("train", banks=banks))[0].max() < 5 and sample(make("test", banks=banks))[0].min() >= 100


def test_rotations_are_further_classes():
    images = np.zeros((40, 2, 2, 1), "uint8")
    images[:, 0, 0] = 255  # one bright corner, which tells the rotation
    tasks = ImageTasks({"train": ClassBank(images, [0, 20], [20, 20], "ab")}, "train", 3000, 0, way=8, shot=1, queries=0, rotations=True)
    assert len(tasks.bank) == 8
    x = tasks.sample(0).support_x.numpy().reshape(3000, 8, 4)
    assert np.all(x.sum(-1) == 1) and np.all(x.sum(1) == 2)
    assert uniform(x[:, 0].sum(0))


def test_the_original_code_draws_classes_and_images_independently():
    tasks = make(batch=20000, way=2, shot=1, queries=1, protocol="original_code")
    support_class, support_image, query_class, query_image, task = sample(tasks)
    np.testing.assert_array_equal(support_class, query_class)
    assert uniform(np.bincount(support_class[:, 0, 0] * 5 + support_class[:, 1, 0], minlength=25))
    for c, n in enumerate(COUNT):
        pairs = np.stack([support_image, query_image], -1)[:, 0, 0][support_class[:, 0, 0] == c]
        assert uniform(np.bincount(pairs[:, 0] * n + pairs[:, 1], minlength=n * n))
    np.testing.assert_array_equal(task.support_y[0], [0, 1])
    make(way=9, shot=40, protocol="original_code", batch=1).sample(0)  # more than there are


@pytest.mark.badinput
@pytest.mark.parametrize(
    "options, message",
    [
        ({"way": 0}, "way must be at least 1. Received: way=0."),
        ({"shot": 0}, "shot must be at least 1. Received: shot=0."),
        ({"queries": -1}, "queries must be at least 0. Received: queries=-1."),
        ({"batch": 0}, "batch must be at least 1. Received: batch=0."),
        ({"split": "dev"}, "split must be one of train, validation, test. Received: split=dev."),
    ],
)
def test_wrong_options_are_named(options, message):
    with pytest.raises(ConfigurationError) as error:
        make(**options)
    assert str(error.value) == message


@pytest.mark.badinput
def test_too_little_data_is_named():
    with pytest.raises(DataError, match="ImageTasks, train split: way=6 needs 6 classes, but there are 5"):
        make(way=6)
    message = "ImageTasks, train split: Class 'class 0' has too few images for shot \\+ queries: .* Received: 6 for 7"
    with pytest.raises(DataError, match=message):
        make(shot=4)
    with pytest.raises(DataError, match="no test classes, only: train"):
        make("test")


def test_an_unknown_class_comes_after_the_queries_of_a_batch_that_is_otherwise_the_same():
    tasks = make("test", banks={"test": bank()})
    own = tasks.sample(3)
    more = tasks.with_unknown(3, own)
    np.testing.assert_array_equal(more.query_x[:, :9], own.query_x)
    for field in ("support_x", "support_y", "key"):
        np.testing.assert_array_equal(getattr(more, field), getattr(own, field))
    np.testing.assert_array_equal(more.query_y, [[0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3]] * 2000)
    unknown, images = decode(more.query_x[:, 9:], 1)
    own_classes = decode(own.support_x, 3)[0][..., 0]
    unknown, images = unknown[:, 0], images[:, 0]
    assert (unknown == unknown[:, :1]).all() and not (unknown[:, :1] == own_classes).any()
    assert uniform(np.bincount(unknown[:, 0], minlength=5)) and all(len(set(each)) == 3 for each in images)
    for c, count in enumerate(COUNT):
        assert uniform(np.bincount(images[unknown[:, 0] == c].ravel(), minlength=count))


def test_an_unknown_class_needs_one_more():
    with pytest.raises(DataError, match="way=6 needs 6 classes, but there are 5"):
        (tasks := make(way=5)).with_unknown(0, tasks.sample(0))
    with pytest.raises(ConfigurationError, match="Received: protocol original_code"):
        (tasks := make(protocol="original_code")).with_unknown(0, tasks.sample(0))
