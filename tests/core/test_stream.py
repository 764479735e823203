"""The stream: gold, disjoint and complete splits, its length, refusals; scaling."""

from dataclasses import replace

import made_up
import numpy as np
import pytest
import support
import torch

from sdsl.core.scaler import HUGE, Scaler, without_outliers
from sdsl.errors import UserError

SIZE, TEST = 30, 9
DATA = support.blobs(rows=160, classes=4, d=3)  # five segments and ten rows over
ENDS = (50, 57, 59, 100, 160)  # of segments that differ in length
RAGGED = replace(DATA, ends=ENDS)
NONE = {"segment_size": None, "test_size": None}


def stream(data=DATA, seed=0, cut=None, **config):
    sizes = {"segment_size": SIZE, "test_size": TEST}
    return made_up.stream(data, seed, sizes | (cut or {}), **config)


def numbers(X: torch.Tensor) -> list[int]:
    """Which rows of the table these are."""
    place = {row.tobytes(): i for i, row in enumerate(DATA.X)}
    return [place[row.tobytes()] for row in X.reshape(-1, 3).numpy()]


def test_segments_are_split_without_loss_or_overlap():
    made = stream()
    assert (made.T, made.d, made.C) == (4, 3, 4)
    for t, tests in enumerate(made.tests(), 1):
        unlabelled, test = numbers(made.segment(t)), numbers(tests.X)
        assert (len(unlabelled), len(test)) == (SIZE - TEST, TEST)
        assert sorted(unlabelled + test) == list(range(t * SIZE, (t + 1) * SIZE))
        assert np.array_equal(DATA.y[unlabelled], made.truth(t))
        assert np.array_equal(DATA.y[test], tests.y)


def test_segments_may_differ_in_length():
    """A fifth of each tests, one row at least; nothing is left out."""
    made, starts = stream(RAGGED, cut=NONE), ENDS[:-1]
    assert [len(tests) for tests in made.tests()] == [1, 1, 8, 12]
    for t, (start, end, tests) in enumerate(zip(starts, ENDS[1:], made.tests(), strict=True), 1):
        unlabelled, test = numbers(made.segment(t)), numbers(tests.X)
        assert sorted(unlabelled + test) == list(range(start, end))
        assert np.array_equal(DATA.y[unlabelled], made.truth(t))
        assert np.array_equal(DATA.y[test], tests.y)
    assert [len(part) for part in stream(RAGGED, cut={"test_size": 1}).unlabelled] == [6, 1, 40, 59]
    assert stream(RAGGED, cut={"test_size": None}, max_segments=2).T == 2  # SIZE is not used


def test_equal_segments_have_the_same_split_however_they_are_given():
    equal, named = stream(), stream(replace(DATA, ends=(30, 60, 90, 120, 150)))
    for part in ("unlabelled", "test"):
        assert all(map(torch.equal, getattr(equal, part), getattr(named, part)))
    assert named.T == 4 and torch.equal(equal.gold().X, named.gold().X)


def test_rows_come_in_random_order():
    """A file may have a segment's rows class by class: their order must not give labels away."""
    by_class = np.argsort(DATA.y[:50], kind="stable"), 50 + np.argsort(DATA.y[50:], kind="stable")
    order = np.concatenate(by_class)
    table = replace(DATA, X=DATA.X[order], y=DATA.y[order], ends=(50, 160))
    made = stream(table, cut=NONE | {"gold_per_class": "all"}, gold="record")
    for y in (made.gold().y, made.truth(1), made.tests()[0].y):
        assert (np.diff(y) < 0).sum() > len(y) / 4  # in the order of the file it is never


@pytest.mark.parametrize(
    ("gold", "rows"), [("segment", SIZE - TEST), ("record", 20), (2, 8), (100, SIZE)]
)
def test_gold_comes_from_segment_0(gold, rows):
    """Where a class has fewer rows than asked for, all of them."""
    made = stream(gold=gold).gold()
    found = numbers(made.X)
    assert len(set(found)) == len(found) == rows
    assert max(found) < SIZE
    assert np.array_equal(DATA.y[found], made.y)
    if rows in (8, 20):
        assert np.bincount(made.y).tolist() == [rows // 4] * 4


@pytest.mark.parametrize(("gold", "rows"), [("record", 50), ("segment", 40), (2, 8)])
def test_all_of_segment_0_can_be_gold(gold, rows):
    """In the seed's random order, which begins with the rows of any smaller gold set."""
    made = stream(RAGGED, cut=NONE | {"gold_per_class": "all"}, gold=gold).gold()
    found, whole = numbers(made.X), numbers(stream(RAGGED, 0, NONE, gold=1000).gold().X)
    assert len(found) == rows and sorted(whole) == list(range(50)) != whole
    assert found == ([i for i in whole if i in found] if gold == 2 else whole[:rows])


def test_splits_depend_on_the_seed_and_on_nothing_else():
    made = stream()
    for same in (stream(), stream(support.table(DATA.X, (DATA.y + 1) % 4)), stream(max_segments=2)):
        assert all(map(torch.equal, made.unlabelled[:2], same.unlabelled[:2]))
    assert not torch.equal(made.unlabelled[0], stream(seed=1).unlabelled[0])
    assert not torch.equal(made.unlabelled[0] % SIZE, made.unlabelled[1] % SIZE)


@pytest.mark.parametrize(("cut", "config", "T"), [
    ({}, {"max_segments": 99}, 4), ({}, {"prefix": "calibrated"}, 4),
    ({"calibrated_segments": 3}, {}, 4), ({"calibrated_segments": 3}, {"prefix": "calibrated"}, 3),
    ({"calibrated_segments": 3}, {"prefix": "calibrated", "max_segments": 1}, 1),
    ({"segment_size": 80}, {}, 1), ({"segment_size": 40, "test_size": None}, {}, 3),
])  # fmt: skip
def test_length(cut, config, T):
    made = stream(cut=cut, **config)
    assert made.T == len(made.tests()) == T
    q = 8 if cut.get("segment_size") == 40 else TEST  # None: a fifth
    assert {len(rows) for rows in made.tests()} == {q}


@pytest.mark.parametrize(("cut", "data", "message"), [
    ({"segment_size": 81}, DATA, "160 rows are fewer than two segments of 81"),
    ({"test_size": SIZE}, DATA, "segment 0 .rows: 30. is too short for 30 rows"),
    ({"segment_size": None}, DATA, "segment_size has no value, and no column says segments"),
    ({}, support.table(DATA.X, 0 * DATA.y), "one class only"),
    (NONE, replace(DATA, ends=(50, 51, 160)), "segment 1 .rows: 1. is too short for 1 rows"),
    (NONE, replace(DATA, ends=(160,)), "160 rows are fewer than two segments"),
    ({}, support.table(DATA.X, DATA.y * (np.arange(160) >= SIZE)), "no row of class 1, 2, 3"),
])  # fmt: skip
def test_refusals(cut, data, message):
    with pytest.raises(UserError, match=message):
        stream(data, cut=cut)


def test_jitter_is_in_the_last_digits_and_of_the_seed():
    sizes = 0.0, 1e-6, 1e-6, 2e-6
    plain, one, same, other = (stream(jitter=jitter).gold().X for jitter in sizes)
    assert torch.equal(one, same) and not torch.equal(one, plain)
    torch.testing.assert_close(one, plain, rtol=1e-5, atol=0)
    twice, once = ((moved - plain) / plain for moved in (other, one))
    torch.testing.assert_close(twice, 2 * once, rtol=0, atol=1e-6)


# Scaling


def test_the_scaler_standardises():
    parts = torch.randn(40, 3) * 5 + 2, torch.randn(7, 3)
    scaler, whole = Scaler.fit(*parts), torch.cat(parts).double().numpy()
    np.testing.assert_allclose(scaler.mean[0], whole.mean(0), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(scaler.scale[0], whole.std(0), rtol=1e-5)
    torch.testing.assert_close(scaler.undo(scaler(parts[0])), parts[0])
    identity = Scaler.identity(3)
    assert torch.equal(identity(1e6 * parts[0]), 1e6 * parts[0])
    X = torch.full((10, 2), 1e6)
    X[:, 1] = torch.arange(10)
    scaled = Scaler.fit(X)(X)
    assert scaled[:, 0].tolist() == [0] * 10  # a constant feature keeps its scale
    assert scaled[:, 1].std(correction=0) == pytest.approx(1)


def test_a_value_out_of_all_proportion_sets_no_scale():
    X = torch.randn(50, 2, generator=torch.Generator().manual_seed(0))
    bad = X.clone()
    bad[7, 1] = -1e30
    assert torch.allclose(Scaler.fit(bad).scale, Scaler.fit(X).scale, rtol=0.1)
    z = Scaler.fit(bad)(bad)
    assert z[7, 1] == 0 and z.abs().max() < 10
    assert Scaler.fit(X)(torch.full((1, 2), 2 * HUGE)).max() == 0
    for whole in (X, 1e9 * X):  # large units are no reason
        assert torch.equal(without_outliers(whole), whole)


def observe(scaler):
    made, spy = stream(scaler=scaler), made_up.Predict()
    made_up.run(spy, made_up.Act(), made)
    return made, spy.steps


def test_rows_stay_as_they_are_without_a_scaler():
    made, steps = observe("none")
    for step in steps:
        assert torch.equal(step.X, made.segment(step.t))
        assert torch.equal(step.gold.X, made.gold().X)


def test_a_scaler_per_step_is_refitted_on_the_segment_and_the_lookback():
    """At t=1 gold stands for the lookback. Two rows of the segment tell its scale."""
    made, steps = observe("per_step")
    close = {"rtol": 1e-4, "atol": 1e-4}  # the lookback goes back to raw units and forth again
    assert [len(step.lookback) for step in steps] == [0, 5, 5, 5]
    for step in steps:
        segment = made.segment(step.t)
        scale = (segment[1] - segment[0]) / (step.X[1] - step.X[0])
        undone = step.lookback.X * scale + segment[0] - step.X[0] * scale
        raw = undone if step.t > 1 else made.gold().X
        before = made.segment(step.t - 1) if step.t > 1 else made.gold().X
        assert torch.cdist(raw, before).amin(1).max() < 1e-3
        scaler = Scaler.fit(segment, raw)
        torch.testing.assert_close(step.X, scaler(segment), **close)
        torch.testing.assert_close(step.gold.X, scaler(made.gold().X), **close)
