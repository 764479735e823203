"""Drawn tables: each setting does what it says, and every preset can be cut into a stream."""

import numpy as np
import pytest
import support
from dataset_support import dataset
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from sdsl import experiment
from sdsl.config import composed, setup
from sdsl.config.sections import DataConfig
from sdsl.datasets import load
from sdsl.errors import UserError

NOWHERE = DataConfig(root=None, download=False, cache=None)
PRESETS = [name for name in support.options("dataset") if name.startswith("dev/table_")]
SENSORS, USELESS, ONE_HOT, COUNTS = slice(0, 4), slice(4, 6), slice(6, 12), slice(12, 14)
SMALL = {"features": 4, "useless": 2, "categories": 2, "levels": 3, "counts": 2}


def drawn(**knobs) -> tuple[np.ndarray, np.ndarray]:
    """X [12, 400, d] and y [12, 400], by segment; the columns of SMALL, no drift."""
    section = dataset("dev/table", **{"segments": 12, "segment_size": 400} | SMALL | knobs)
    table = load(section, NOWHERE)
    assert table.X.dtype == np.float32 and table.y.dtype == np.int64
    return table.X.reshape(12, 400, -1), table.y.reshape(12, 400)


def shares(y: np.ndarray) -> np.ndarray:
    """[segments, classes]"""
    return np.stack([np.bincount(one, minlength=y.max() + 1) for one in y]) / y.shape[1]


def shifted(X: np.ndarray) -> np.ndarray:
    """How far each segment's means are from those of all, in standard errors: [segments, d]"""
    return np.abs(X.mean(1) - X.mean((0, 1))) / X.std((0, 1)) * np.sqrt(X.shape[1])


def accuracy(model, X: np.ndarray, y: np.ndarray) -> list[float]:
    """Of a model of segment 0, on each later one."""
    model.fit(X[0], y[0])
    return [model.score(*segment) for segment in zip(X[1:], y[1:], strict=True)]


def forest() -> RandomForestClassifier:
    return RandomForestClassifier(50, random_state=0)


def logistic():
    return make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_has_gold_of_all_classes_and_draws_differ_by_seed(name):
    digests = set()
    for draw in (0, 1, 0):
        words = f"dataset={name}", f"dataset.table_seed={draw}"
        section = composed(*words)["dataset"]
        table = load(section, NOWHERE)
        assert table.name == f"{name.replace('/', '_')}_{draw}" and np.isfinite(table.X).all()
        assert len(table.y) == section["segments"] * section["segment_size"]
        first = np.bincount(table.y[: section["segment_size"]], minlength=section["classes"])
        assert len(first) == section["classes"] and first.min() >= 5
        stream = experiment.cut(setup(composed(*words)), table, 0)
        assert len(stream.gold()) == section["segment_size"] - section["test_size"]
        digests.add(table.digest())
    assert len(digests) == 2


def test_columns_are_sensors_useless_ones_categories_counts_and_growing_ones():
    X, _ = drawn(growing=2)
    flat = X.reshape(4800, 16)
    assert set(np.unique(flat[:, ONE_HOT])) == {0, 1}
    assert (flat[:, ONE_HOT].reshape(-1, 2, 3).sum(2) == 1).all()
    assert (flat[:, COUNTS] % 1 == 0).all() and flat[:, COUNTS].max() > 1
    assert (np.diff(flat[:, 14:], axis=0) >= 0).all() and (flat[-1, 14:] > 0).all()
    np.testing.assert_array_equal(flat[:, :14], drawn()[0].reshape(4800, 14))
    spread = np.log10(flat[:, :6].std(0))
    assert np.ptp(spread) >= 1  # units


def test_useless_columns_are_independent_of_the_class_and_sensors_are_not():
    X, y = drawn(rule="clouds", gap=3.0)
    flat, label = X.reshape(4800, -1), y.ravel()
    apart = np.ptp([flat[label == c].mean(0) for c in range(3)], axis=0) / flat.std(0)
    assert apart[SENSORS].min() > 0.3 and apart[USELESS].max() < 0.1


@pytest.mark.parametrize(("noise", "share"), [(0.0, 0), (0.3, 0.3)])
def test_noise_is_the_share_of_wrong_labels(noise, share):
    (clean, y), (X, noisy) = drawn(), drawn(noise=noise)
    np.testing.assert_array_equal(X, clean)
    assert (y != noisy).mean() == pytest.approx(share, abs=0.02)


def test_wild_rows_hold_absurd_values():
    (calm, _), (X, _) = drawn(features=30), drawn(features=30, wild=0.1)
    changed = (X[:, :, :32] != calm[:, :, :32]).any(2)
    assert changed.mean() == pytest.approx(0.1, abs=0.02)
    assert set(X[:, :, :32][X[:, :, :32] != calm[:, :, :32]]) == {-999, 0, 1e6}


def test_heavy_columns_are_skewed_or_have_long_tails():
    X = drawn(heavy=1.5)[0].reshape(4800, -1)[:, :6]
    z = (X - X.mean(0)) / X.std(0)
    assert ((z**4).mean(0) > 9).all()  # 3 if normal
    assert ((z**3).mean(0)[::2] > 3).all()


def test_a_forest_beats_a_logistic_regression_on_trees_and_not_on_lines():
    lead = {}
    for rule in ("trees", "linear"):
        X, y = drawn(rule=rule, categories=0, counts=0, related=0.0, blur=0.0)
        lead[rule] = np.mean(accuracy(forest(), X, y)) - np.mean(accuracy(logistic(), X, y))
    assert lead["trees"] > 0.08 and lead["linear"] < -0.02


def test_nothing_drifts_unless_asked():
    X, y = drawn(classes=4, balance=0.5)
    assert shifted(X).max() < 4.5 and np.ptp(shares(y), axis=0).max() < 0.12
    rare, common = np.sort(shares(y).mean(0))[[0, -1]]
    assert rare / common == pytest.approx(0.5, abs=0.1)


def test_sensors_age_each_in_its_own_way_and_the_rest_stays():
    (new, y), (X, same) = drawn(), drawn(ages=2.0)
    np.testing.assert_array_equal(y, same)
    np.testing.assert_array_equal(X[:, :, 6:], new[:, :, 6:])
    offset = (X - new).mean(1)[:, :6] / new.std((0, 1))[:6]
    assert np.abs(offset[0]).max() < 1.5 < np.abs(offset[-1]).max()
    assert np.ptp(offset[-1]) > 1.5
    gain = X.std(1)[-1, :6] / new.std(1)[-1, :6]
    assert np.ptp(gain) > 0.3


def test_shares_swing():
    assert np.ptp(shares(drawn(swing=1.5)[1]), axis=0).min() > 0.3


def test_classes_vanish_and_return():
    y = drawn(classes=5, vanish=2)[1]
    present = shares(y) > 0
    np.testing.assert_array_equal(present.sum(1), [5] * 4 + [3] * 4 + [5] * 4)
    assert shares(y)[[0, -1]].min() > 0.05


def test_inputs_wander_while_the_rule_stays():
    """A forest of all segments does on each about as well as one of a stream without drift."""
    X, y = drawn(wander=1.5, classes=2)
    middle = X.mean(1)[:, SENSORS] / X[0].std(0)[SENSORS]
    assert np.abs(middle[-1] - middle[0]).max() > 1
    odd, even = slice(1, None, 2), slice(0, None, 2)
    model = forest().fit(X[even].reshape(2400, -1), y[even].ravel())
    assert model.score(X[odd].reshape(2400, -1), y[odd].ravel()) > 0.75
    assert np.mean(accuracy(forest(), X, y)[-3:]) < 0.7


def test_the_rule_turns_and_the_inputs_do_not_show_it():
    X, y = drawn(turn=90.0, classes=2, balance=None)
    still, _ = drawn(turn=0.0, classes=2, balance=None)
    np.testing.assert_array_equal(X, still)
    later = accuracy(forest(), X, y)
    assert later[0] > later[-1] + 0.1
    assert forest().fit(X[-2], y[-2]).score(X[-1], y[-1]) > later[-1] + 0.1


@pytest.mark.parametrize(("knobs", "message"), [
    ({"classes": 3, "vanish": 2}, "dataset.vanish=2: at most half of the classes may."),
    ({"classes": 9, "depth": 3}, "dataset.depth=3: fewer regions than classes. Raise it."),
])  # fmt: skip
def test_settings_that_do_not_fit_are_refused(knobs, message):
    with pytest.raises(UserError, match=message):
        drawn(**knobs)
