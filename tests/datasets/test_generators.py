"""Drawn streams: keyframe tables, random paths and moving shapes do what their settings say."""

import numpy as np
import pytest
from dataset_support import dataset

from sdsl import experiment
from sdsl.config import composed, setup
from sdsl.config.sections import DataConfig
from sdsl.datasets import keyframes, load

NOWHERE = DataConfig(root=None, download=False, cache=None)
# SCARGC's accuracy on the original UG_2C_3D in each twentieth of the stream, as published.
SCARGC = (
    *(100, 100, 99.9, 99.4, 96.0, 86.4, 83.2, 94.0, 95.1, 89.8),
    *(92.8, 97.7, 99.1, 99.0, 99.0, 98.9, 97.3, 92.9, 87.9, 87.2),
)


NAMES = ("mg_2c_2d", "ug_2c_2d", "ug_2c_3d", "ug_2c_5d")
# The original of UG_2C_3D is not to be had.
DRAWN = [(name, "data") for name in NAMES] + [(n, "originals") for n in NAMES if n != "ug_2c_3d"]


@pytest.mark.parametrize(("name", "files"), DRAWN)
def test_means_and_deviations_are_those_of_the_keyframes(name, files, request):
    """Of the draw, and of the original that the table was fitted to."""
    found, table = load(dataset(name), request.getfixturevalue(files)), keyframes.load(name)
    assert files == "data" or found.standing != "regenerated"
    X = found.X.astype(float).reshape(table.segments, table.segment_size, -1)
    y = found.y.reshape(table.segments, -1)
    assert 0.49 < (np.diff(found.y) != 0).mean() < 0.51  # mixed
    n = table.segment_size // len(table.classes)  # rows of each class in every segment
    now = np.arange(table.late, table.segments + table.late)
    now = now * table.times[-1] / now[-1]
    z = []
    for c, modes in enumerate(table.classes.values()):
        assert ((y == c).sum(1) == n).all()
        rows = X[y == c].reshape(table.segments, n, -1)
        for j in range(X.shape[2]):
            path = [  # of each mode: mean and variance at the segments
                [np.interp(now, table.times, np.array(mode[of])[:, j]) for of in ("mean", "var")]
                for mode in modes
            ]
            means, variances = np.array(path).transpose(1, 0, 2)
            total = variances.mean(0) + means.var(0)
            z.append((rows[..., j].mean(1) - means.mean(0)) / np.sqrt(total / n))
            z.append((rows[..., j].var(1) / total - 1) / np.sqrt(2 / n))
    assert np.sqrt(np.mean(np.square(z))) < 1.1 and np.abs(z).max() < 4.5


def test_the_stand_in_is_as_hard_for_scargc_as_the_original():
    """Segment by segment before it learns from it, two seeds; segment 0 is gold."""
    config = setup(composed("method=scargc", "dataset=ug_2c_3d", "eval.every=1000"))
    table = load(dataset("ug_2c_3d"), NOWHERE)
    R = [experiment.run(config, seed, table).outcome.R for seed in (10, 11)]
    online = 100 * np.mean([np.diagonal(one[1:]) for one in R], axis=0)  # [99]
    curve = [online[max(0, i - 1) : i + 4].mean() for i in range(0, 100, 5)]
    np.testing.assert_allclose(curve, SCARGC, atol=2)


# Random paths


def drawn_path(**changes):
    sizes = {"segments": 20, "segment_size": 200, "features": 3}
    return load(dataset("dev/path", **sizes | changes), NOWHERE)


def test_a_random_path_has_its_sizes_and_its_seed():
    one, again, other = (drawn_path(classes=4, modes=2, path_seed=seed) for seed in (3, 3, 4))
    assert one.X.shape == (4000, 3) and one.name == "dev_path_3" and one.standing == "regenerated"
    assert (np.stack([np.bincount(y) for y in one.y.reshape(20, 200)]) == 50).all()
    assert one.digest() == again.digest() != other.digest()


def test_an_exchange_ends_where_the_other_class_began():
    found = drawn_path(exchange=True, path_seed=1)
    at = means(found.X.reshape(20, 200, 3), found.y.reshape(20, 200))
    np.testing.assert_allclose(np.linalg.norm(at[-1] - at[0, ::-1], axis=1), 0, atol=1.2)
    np.testing.assert_allclose(np.linalg.norm(at[-1] - at[0], axis=1), 6 * 0.95, atol=0.6)


# Shapes


def drawn(**knobs) -> tuple[np.ndarray, np.ndarray]:
    """X [10, 400, d] and y [10, 400], by segment."""
    section = dataset("dev/shapes", **{"segments": 10, "segment_size": 400} | knobs)
    table = load(section, NOWHERE)
    return table.X.reshape(10, 400, -1), table.y.reshape(10, 400)


def means(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """[segments, classes, d]"""
    rows = zip(X, y, strict=True)
    return np.stack([[x[c == k].mean(0) for k in range(y.max() + 1)] for x, c in rows])


def length(v: np.ndarray) -> np.ndarray:
    return np.linalg.norm(v, axis=-1)


WHEEL = {"layout": "wheel", "classes": 4, "gap": 6.0}
COLUMN = {"layout": "column", "classes": 3, "gap": 5.0, "travel": 40.0}
# Settings -> lengths measured on the class means, and what they are: 0.9 of a way is left between
# the middles of the first and the last of ten segments.
MOVES = {
    "nothing moves": ({}, lambda at: length(at - at[0]), 0),
    "travel": ({"travel": 60.0}, lambda at: length(at[-1] - at[0]), 54),
    "travel together": ({"travel": 60.0}, lambda at: np.ptp(at[-1] - at[0], axis=0), 0),
    "a turn keeps lengths": ({"turn": 36.0}, lambda at: np.ptp(length(at), axis=0), 0),
    "a half turn": ({"turn": 36.0, "gap": 9.0}, lambda at: length(at[0] + at[5]), 0),
    "crossing": ({"cross": 1.0, "gap": 6.0}, lambda at: length(at[-1] - at[0, ::-1]), 0.6),
    "there and back": ({"travel": 60.0, "periods": 1}, lambda at: length(at[-1] - at[0]), 0),
    "there": ({"travel": 60.0, "periods": 1}, lambda at: length(at[4] - at[0]), 48),
    "a jump": ({"jump": 20.0}, lambda at: length(at[5] - at[4]), [0, 20]),
    "steps rest": ({"travel": 60.0, "steps": 5}, lambda at: length(at[1::2] - at[::2]), 0),
    "steps": ({"travel": 60.0, "steps": 5}, lambda at: length(at[2::2] - at[1:-1:2]), 12),
    "swell": ({"swell": 1.0, "gap": 9.0}, lambda at: length(at[2]) / length(at[0]), 1.9),
    "wheel": (WHEEL, lambda at: length(at[0] - np.roll(at[0], 1, axis=0)), 6),
    "column": (COLUMN, lambda at: at[-1] - at[0], [[0, 36]] * 3),
}


@pytest.mark.parametrize(("knobs", "measure", "expected"), MOVES.values(), ids=MOVES)
def test_classes_move_as_their_settings_say(knobs, measure, expected):
    found = measure(means(*drawn(**knobs)))
    np.testing.assert_allclose(found, np.broadcast_to(expected, found.shape), atol=0.7)


def test_classes_begin_a_gap_apart_and_joined_ones_share_a_label():
    X, y = drawn(classes=4, gap=8.0)
    at = means(X, y)[0]
    assert length(at[:, None] - at)[np.triu_indices(4, 1)].min() > 8 - 0.7
    joined = drawn(classes=4, gap=8.0, joined=[0, 0, 0, 1])
    assert np.array_equal(joined[0], X) and np.array_equal(joined[1], y == 3)


def test_shares_change_from_the_first_to_the_last():
    _, y = drawn(shares=[90, 10], last_shares=[10, 90])
    np.testing.assert_allclose(y.mean(axis=1), np.linspace(0.14, 0.86, 10), atol=0.08)


@pytest.mark.parametrize(
    ("shape", "mean_radius"),
    # Of the outline: 1; of a radius that is even on (0, 1): 1/2; of a star: (1 + 0.4) / 2 * 2/3.
    [("ring", 1), ("crescent", 1), ("arms", 0.5), ("star", 0.467), ("blob", 0)],
)
def test_shapes_have_their_size(shape, mean_radius):
    X, y = drawn(shape=shape, size=50.0, gap=200.0)
    centres = means(*drawn(shape="blob", size=50.0, gap=200.0)).mean(axis=0)
    radius = length(X - centres[y])
    assert radius.mean() / 50 == pytest.approx(mean_radius, abs=0.04)
    assert radius.max() < (50 if mean_radius else 0) + 5


@pytest.mark.parametrize("noise", ["normal", "heavy", "skewed"])
def test_noise_has_its_form(noise):
    X, y = drawn(noise=noise, features=8, gap=8.0)
    z = np.concatenate([X[y == c] - X[y == c].mean(0) for c in range(2)])
    assert z.std() == pytest.approx(1, abs=0.1)
    assert ((z**3).mean() > 1.5) == (noise == "skewed") or noise == "heavy"
    assert ((z**4).mean() > 5) == (noise != "normal")  # 3 if normal


def test_a_draw_is_fixed_by_its_seed_and_binary_if_asked():
    one, again, other = (drawn(binary=True, shapes_seed=seed)[0] for seed in (0, 0, 1))
    assert np.array_equal(one, again) and not np.array_equal(one, other)
    assert set(np.unique(one)) == {0, 1}
