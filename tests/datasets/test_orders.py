"""The named orders: permutations, deterministic, and what each promises."""

import numpy as np
import pytest

from sdsl.datasets.orders import ORDERS


@pytest.fixture
def rows() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.permutation(np.repeat([0, 1, 2], [60, 30, 10]))
    return (rng.normal(size=(100, 4)) * [9, 1, 1, 1] + y[:, None]).astype(np.float32), y


@pytest.mark.parametrize("name", ORDERS)
def test_every_order_is_a_fixed_permutation(name, rows):
    at = ORDERS[name](*rows)
    assert sorted(at) == list(range(100))
    np.random.seed(1)
    assert np.array_equal(at, ORDERS[name](*rows))


def test_file_and_chronological_keep_the_file(rows):
    assert ORDERS["file"](*rows).tolist() == list(range(100))
    assert ORDERS["chronological"](*rows).tolist() == list(range(100))


@pytest.mark.parametrize("name", ["class_pc1", "class_pc1_raw_flipped"])
def test_every_stretch_keeps_the_class_proportions(name, rows):
    y = rows[1][ORDERS[name](*rows)]
    for start in range(0, 100, 10):
        assert np.bincount(y[start : start + 10], minlength=3).tolist() == [6, 3, 1]


def test_class_pc1_by_hand():
    # One feature varies, so it is each class's component; loading +1, so classes rise with time.
    X = np.array([[3, 0], [1, 0], [2, 0], [30, 0], [10, 0]], dtype=np.float32)
    y = np.array([0, 0, 0, 1, 1])
    # Quantiles: class 0 rises 1, 2, 3 at 1/6, 3/6, 5/6; class 1 rises 10, 30 at 1/4, 3/4.
    assert ORDERS["class_pc1"](X, y).tolist() == [1, 4, 2, 3, 0]


def test_the_flipped_variant_turns_odd_classes_round():
    X = np.array([[3, 0], [1, 0], [2, 0], [30, 0], [10, 0]], dtype=np.float32)
    y = np.array([0, 0, 0, 1, 1])
    assert ORDERS["class_pc1_raw_flipped"](X, y).tolist() == [1, 3, 2, 4, 0]


def test_the_raw_variant_follows_the_largest_raw_spread():
    # Standardised, feature 2 of class 0 (anticorrelated, tiny) weighs as much as feature 1.
    X = np.array([[0, 0.0], [5, 0.1], [9, 0.0], [2, 0.1]], dtype=np.float32)
    y = np.zeros(4, dtype=int)
    assert ORDERS["class_pc1_raw_flipped"](X, y).tolist() == [0, 3, 1, 2]
