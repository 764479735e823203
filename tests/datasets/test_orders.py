"""The named orders: permutations, worked out by hand and by a slow, plain version."""

from fractions import Fraction
from typing import get_args

import numpy as np
import pytest
from dataset_support import dataset

from sdsl.datasets import Order, load, ordered
from sdsl.errors import UserError


def made_up() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [60, 30, 10]))
    X = rng.normal(size=(100, 5)) * [9, 1, 1, 1, 0] + y[:, None]  # the last: constant in a class
    return X.astype(np.float32), y


@pytest.mark.parametrize("order", get_args(Order))
def test_every_order_is_a_fixed_permutation(order):
    at = ordered(order, *made_up())
    assert sorted(at) == list(range(100))
    assert np.array_equal(at, ordered(order, *made_up()))
    assert (at.tolist() == list(range(100))) == (order in ("file", "chronological"))


def slow_class_pc1(X: np.ndarray, y: np.ndarray, raw_flipped: bool) -> list[int]:
    """Each class sorted along its first principal component, merged by exact quantiles."""
    X, keys = X.astype(float), {}
    if not raw_flipped:
        X = np.stack([(x - x.mean()) / (x.std() or 1) for x in X.T], axis=1)
    for c in range(y.max() + 1):
        rows = [i for i in range(len(y)) if y[i] == c]
        centred = X[rows] - X[rows].mean(axis=0)
        axis = np.linalg.svd(centred, full_matrices=False)[2][0]
        if axis[np.abs(axis).argmax()] < 0:
            axis = -axis
        if raw_flipped and c % 2 == 1:
            axis = -axis
        along = sorted(rows, key=dict(zip(rows, centred @ axis, strict=True)).__getitem__)
        for rank, i in enumerate(along):
            keys[i] = (Fraction(2 * rank + 1, 2 * len(rows)), c)
    return sorted(keys, key=keys.__getitem__)


@pytest.mark.parametrize("order", ["class_pc1", "class_pc1_raw_flipped"])
def test_class_pc1_is_the_slow_one_and_keeps_the_shares_of_the_classes(order):
    X, y = made_up()
    at = ordered(order, X, y)
    assert at.tolist() == slow_class_pc1(X, y, order != "class_pc1")
    for ten in y[at].reshape(10, 10):
        assert np.bincount(ten).tolist() == [6, 3, 1]


def test_class_pc1_of_real_digits(data):
    table = load(dataset("optdigits", order="file"), data)
    at = slow_class_pc1(table.X, table.y, False)
    found = load(dataset("optdigits"), data)
    assert np.array_equal(found.X, table.X[at]) and np.array_equal(found.y, table.y[at])


def test_chronological_needs_rows_in_order_of_time(data):
    with pytest.raises(UserError, match=r"^spam: .*not in order of time.*data\.root"):
        load(dataset("spam", order="chronological"), data)
