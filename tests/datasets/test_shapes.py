"""Development streams from geometry: what each knob does, and what is refused."""

import numpy as np
import pytest
from dataset_support import dataset

from sdsl import datasets
from sdsl.config.schema import DataConfig
from sdsl.errors import UserError

NOWHERE = DataConfig(root=None, download=False, cache=None)


def drawn(**knobs) -> tuple[np.ndarray, np.ndarray]:
    """X and y by segment: [segments, rows, d], [segments, rows]."""
    section = dataset("dev/shapes", **{"segments": 10, "segment_size": 400} | knobs)
    table = datasets.load(section, NOWHERE)
    return table.X.reshape(10, 400, -1), table.y.reshape(10, 400)


def means(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[segments, classes, d]"""
    rows = zip(X, y, strict=True)
    return np.stack([[x[c == k].mean(0) for k in range(y.max() + 1)] for x, c in rows])


def test_the_same_seed_gives_the_same_rows_and_another_gives_others():
    assert np.array_equal(drawn()[0], drawn()[0])
    assert not np.array_equal(drawn()[0], drawn(shapes_seed=1)[0])


def test_nothing_moves_where_nothing_is_asked_for():
    at = means(*drawn(classes=3))
    assert np.abs(at - at[0]).max() < 0.9  # means of about 130 rows
    gaps = np.linalg.norm(at[0][:, None] - at[0], axis=-1)
    assert gaps[np.triu_indices(3, 1)].min() > 3.2  # `gap` is 4


def test_travel_moves_all_classes_together():
    way = np.diff(means(*drawn(travel=60.0))[[0, -1]], axis=0)[0]
    np.testing.assert_allclose(np.linalg.norm(way, axis=1), 60 * 0.9, atol=1)
    np.testing.assert_allclose(way[0], way[1], atol=0.5)


def test_a_turn_keeps_distances_and_comes_round():
    at = means(*drawn(turn=36.0))
    radius = np.linalg.norm(at, axis=2)
    assert np.ptp(radius, axis=0).max() < 0.6
    assert np.linalg.norm(at[5] - at[0], axis=1).min() > 1  # half way round


def test_classes_that_cross_end_at_each_others_places():
    at = means(*drawn(cross=1.0, segments=10, gap=6.0))
    assert np.linalg.norm(at[-1, 0] - at[0, 1]) < 1.2
    assert np.linalg.norm(at[-1, 1] - at[0, 0]) < 1.2


def test_shares_change_from_the_first_to_the_last():
    _, y = drawn(shares=[90, 10], last_shares=[10, 90])
    assert (y[0] == 0).mean() > 0.8
    assert (y[-1] == 0).mean() < 0.2


def test_concepts_come_back():
    at = means(*drawn(wander=9.0, periods=1))
    assert (
        np.linalg.norm(at[-1] - at[0], axis=1).max() < np.linalg.norm(at[5] - at[0], axis=1).max()
    )


def test_binary_features_are_coins():
    X, _ = drawn(binary=True, features=20)
    assert set(np.unique(X)) == {0.0, 1.0}


@pytest.mark.parametrize("shape", ["ring", "crescent", "star"])
def test_shapes_have_their_size(shape):
    X, y = drawn(shape=shape, size=5.0, gap=12.0)
    for c in range(2):
        rows = X[0][y[0] == c]
        far = np.linalg.norm(rows - rows.mean(0), axis=1)
        assert 3 < far.mean() < 6.5 or shape == "star"
        assert far.max() < 5 + 5 + 3


@pytest.mark.parametrize(
    ("knobs", "message"),
    [
        ({"shares": [1, 2, 3]}, r"dataset\.shares=\[.*\]: expected one share"),
        ({"joined": [0, 2]}, r"dataset\.joined=\[.*\]: expected a class for each"),
        ({"joined": [0, 0, 1]}, r"dataset\.joined=\[.*\]: expected a class for each"),
        ({"shape": "cube"}, r"dataset\.shape=cube is not a choice"),
        ({"features": 1}, r"dataset\.features=1 is out of range"),
        ({"features": 1000, "segments": 10_000}, "lower one of them"),
        ({"tarvel": 3}, "Did you mean 'travel'"),
    ],
)
def test_what_is_refused(knobs, message):
    with pytest.raises(UserError, match=message):
        datasets.check(dataset("dev/shapes", **knobs))


def test_a_wheel_lays_classes_by_turns_on_a_circle():
    at = means(*drawn(layout="wheel", classes=4, gap=6.0))[0]
    radius = np.linalg.norm(at, axis=1)
    np.testing.assert_allclose(radius, 6 / np.sqrt(2), atol=0.4)
    side = np.linalg.norm(at - np.roll(at, 1, axis=0), axis=1)  # to the class before
    np.testing.assert_allclose(side, 6, atol=0.5)


def test_a_column_lies_along_the_way_of_its_travel():
    at = means(*drawn(layout="column", classes=3, gap=5.0, travel=40.0))
    np.testing.assert_allclose(at[0, :, 0], 0, atol=0.4)
    np.testing.assert_allclose(np.diff(at[0, :, 1]), 5, atol=0.5)
    way = at[-1] - at[0]
    np.testing.assert_allclose(way, np.tile([0, 40 * 0.9], (3, 1)), atol=0.6)


def test_drift_in_steps_rests_in_between():
    at = means(*drawn(travel=60.0, steps=5))  # two segments a step
    way = np.linalg.norm(np.diff(at, axis=0), axis=2)  # [9, classes]
    assert way[::2].max() < 0.6
    assert way[1::2].min() > 11


def test_joined_classes_share_a_label():
    X, y = drawn(classes=4, joined=[0, 0, 0, 1], gap=8.0)
    assert set(np.unique(y)) == {0, 1}
    assert (y == 0).mean() == pytest.approx(0.75, abs=0.03)
    _, own = drawn(classes=4, gap=8.0)
    assert np.array_equal(y, np.array([0, 0, 0, 1])[own])
    assert np.array_equal(X, drawn(classes=4, gap=8.0)[0])


@pytest.mark.parametrize(
    ("noise", "skew", "tail"), [("normal", 0, 3), ("heavy", 0, 6), ("skewed", 2.2, 6)]
)
def test_noise_has_its_form(noise, skew, tail):
    X, y = drawn(noise=noise, features=8, gap=8.0)
    z = np.concatenate([X[y == c] - X[y == c].mean(0) for c in range(2)])
    assert z.std() == pytest.approx(1, abs=0.1)
    if noise != "heavy":  # whose third moment is left to chance
        assert (z**3).mean() == pytest.approx(skew, abs=0.6)
    far = (z**4).mean()
    assert far < 3.5 if noise == "normal" else far > tail
