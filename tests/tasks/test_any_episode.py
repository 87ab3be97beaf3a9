"""Whatever the sizes of classes and tasks: an episode is drawn as it must be, and depends on its number alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from stochlwta_tf.errors import UserError
from stochlwta_tf.tasks import ImageTasks, Sinusoid
from stochlwta_tf.tasks.class_bank import ClassBank

SOME = settings(max_examples=40, deadline=None, derandomize=True)


def bank(counts):
    """Images whose pixels are their class and their number in it."""
    labels = np.repeat(np.arange(len(counts)), counts)
    numbers = np.concatenate([np.arange(n) for n in counts])
    images = np.stack([labels, numbers, 0 * labels, 0 * labels], 1).astype("uint8").reshape(-1, 2, 2, 1)
    return ClassBank(images, np.cumsum(counts) - counts, counts, [f"class {i}" for i in range(len(counts))])


@st.composite
def settings_of_tasks(draw):
    shot, queries = draw(st.integers(1, 3)), draw(st.integers(0, 3))
    counts = draw(st.lists(st.integers(shot + queries, 8), min_size=1, max_size=7))
    return counts, draw(st.integers(1, len(counts))), shot, queries


NUMBERS = {"split": st.sampled_from(["train", "validation", "test"]), "seed": st.integers(0, 2**63), "number": st.integers(0, 2**40)}


def make(split, batch, seed, counts, way, shot, queries, **options):
    banks = {split: bank(np.array(counts))}
    return ImageTasks(banks, split, batch, seed, way=way, shot=shot, queries=queries, **options)


@SOME
@given(sizes=settings_of_tasks(), batch=st.integers(1, 4), **NUMBERS)
def test_no_query_is_in_the_support_set_and_counts_are_right(sizes, batch, split, seed, number):
    counts, way, shot, queries = sizes
    task = make(split, batch, seed, counts, way, shot, queries).sample(number)
    support, query = (np.rint(255 * x.numpy()[..., 0]).astype(int).reshape(batch, -1, 4)[..., :2] for x in (task.support_x, task.query_x))
    assert support.shape[1] == way * shot and query.shape[1] == way * queries
    for i in range(batch):
        classes = support[i, ::shot, 0]
        assert len(set(classes)) == way  # distinct
        np.testing.assert_array_equal(support[i, :, 0], np.repeat(classes, shot))
        np.testing.assert_array_equal(query[i, :, 0], np.repeat(classes, queries))
        images = [tuple(image) for image in (*support[i], *query[i])]
        assert len(set(images)) == len(images)  # no image twice
    for y, n in ((task.support_y, shot), (task.query_y, queries)):
        np.testing.assert_array_equal(y, np.tile(np.repeat(np.arange(way), n), (batch, 1)))


@SOME
@given(sizes=settings_of_tasks(), batch=st.integers(2, 5), place=st.integers(0, 4), shift=st.integers(0, 1), flip=st.booleans(), **NUMBERS)
def test_a_task_of_images_depends_on_its_number_alone(sizes, batch, place, shift, flip, split, seed, number):
    place %= batch
    batched = make(split, batch, seed, *sizes, shift=shift, flip=flip).sample(number)
    alone = make(split, 1, seed, *sizes, shift=shift, flip=flip).sample(number * batch + place)
    for a, b in zip(batched, alone, strict=True):
        np.testing.assert_array_equal(a[place], b[0])


@SOME
@given(batch=st.integers(2, 5), place=st.integers(0, 4), points=st.integers(1, 12), **NUMBERS)
def test_a_sinusoid_depends_on_its_number_alone(batch, place, points, split, seed, number):
    place %= batch
    batched = Sinusoid(split, batch, seed, shot=points).sample(number)
    alone = Sinusoid(split, 1, seed, shot=points).sample(number * batch + place)
    for name, a, b in zip(batched._fields, batched, alone, strict=True):
        # TensorFlow's sine has another last bit at the end of an array than in its middle; the noise has not.
        np.testing.assert_allclose(a[place], b[0], rtol=0, atol=2e-6 if name.endswith("_y") else 0)


@pytest.mark.badinput
@SOME
@given(
    counts=st.lists(st.integers(1, 4), min_size=1, max_size=4),
    way=st.integers(-2, 6),
    shot=st.integers(-2, 4),
    queries=st.integers(-2, 4),
    batch=st.integers(-1, 3),
)
def test_what_cannot_be_drawn_is_one_line(counts, way, shot, queries, batch):
    possible = batch > 0 and 1 <= way <= len(counts) and shot > 0 and queries >= 0 and min(counts) >= shot + queries
    try:
        make("train", batch, 0, counts, way, shot, queries).sample(0)
    except UserError as error:
        assert not possible and "\n" not in str(error)
    else:
        assert possible
