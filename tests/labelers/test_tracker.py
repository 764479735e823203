"""The tracker on streams: a crossing without a swap, a shuffled one at st's level, same bits."""

import numpy as np
import pytest
import support
import torch

from sdsl.algorithms.bank import HASTE, Bank
from sdsl.algorithms.gold_rule import evenly, returns
from sdsl.algorithms.mixture import Mixture
from sdsl.core.metrics import lasting_swap, summarise
from sdsl.labelers.tracker import Tracker

SEEDS = (10, 11)


def crossing(segments=40, size=200, near=1.0, seed=0):
    """Two classes that walk to each other's places."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=segments * size)
    p, sign = np.linspace(0, 1, len(y)), 1 - 2 * y
    path = np.c_[3 * (1 - 2 * p), near / 2 * np.sin(np.pi * p)]
    return support.table(sign[:, None] * path + rng.normal(size=(len(y), 2)), y)


def run(method, data, size=200, seeds=SEEDS, *more):
    words = (f"method={method}", "eval.every=1000", *more)
    return support.run(*words, seeds=seeds, data=data, segment_size=size, test_size=60).outcome


def acc(outcome):
    return np.mean([summarise(R).acc_online for R in outcome.R])


def test_no_swap_where_classes_cross():
    out = run("tracker", crossing())
    curves = out.curves
    for s in range(len(SEEDS)):
        found = lasting_swap(curves["test_acc"][s], curves["test_acc_relabelled"][s])
        assert found <= 1
    assert curves["test_acc"][:, -5:].min() > 0.95  # at each other's places
    assert acc(out) > acc(run("st", crossing())) + 0.3
    assert curves["hold"][:, -1].max() == 0  # gold's places again, but not its classes


def test_hold_keeps_a_shuffled_stream_at_the_level_of_st():
    data = support.blobs(rows=4000, classes=3, spread=2.0)
    out = run("tracker", data)
    assert acc(out) >= acc(run("st", data)) - 0.01
    assert out.curves["hold"].mean() > 0.9


@pytest.mark.parametrize("classes", [2, 5])
def test_follows_a_turn(classes):
    data = support.blobs(rows=6000, classes=classes, drift=4 * np.pi)
    assert acc(run("tracker", data)) > 0.97


@pytest.mark.parametrize("degrees", [15, 30])
def test_follows_large_turns_of_a_symmetric_picture(degrees):
    data = support.blobs(rows=4000, classes=4, drift=np.radians(20 * degrees), spread=0.4)
    assert acc(run("tracker", data)) > 0.97


def column():
    """Five classes above each other that move by more than half a gap per segment."""
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=4000)
    X = np.c_[np.zeros(4000), 6 * y + np.linspace(0, 20 * 3.8, 4000)] + rng.normal(size=(4000, 2))
    return support.table(X, y)


def test_follows_a_column_that_moves_by_more_than_half_a_gap():
    assert acc(run("tracker", column())) > 0.9
    assert acc(run("tracker", column(), 200, SEEDS, "labeler.register=false")) < 0.6


def test_the_likelihood_test_sees_a_symmetric_turn_earlier():
    data = support.blobs(rows=4000, classes=4, drift=np.radians(20 * 4))
    held = [
        run("tracker", data, 200, SEEDS, f"labeler.likelihood={on}").curves["hold"].sum()
        for on in ("true", "false")
    ]
    assert held[0] < held[1]


def test_same_bits_alone_and_fused():
    data = crossing(segments=8)
    both = run("tracker", data)
    for s, seed in enumerate(SEEDS):
        alone = run("tracker", data, 200, (seed,))
        assert np.array_equal(alone.R[0], both.R[s], equal_nan=True)
        for name, curve in alone.curves.items():
            assert np.array_equal(curve[0], both.curves[name][s], equal_nan=True), name


def test_numbers_held_stay_within_the_networks():
    for d, classes in [(2, 2), (10, 4), (40, 10), (70, 2)]:
        data = support.blobs(rows=600, classes=classes, d=d)
        held = run("tracker", data, seeds=(10,)).curves["model_numbers"]
        assert held.max() <= 100 * (d + 1) + 101 * 100 + 101 * classes


def test_a_class_that_is_absent_for_a_while_comes_back():
    data = support.blobs(rows=4000, classes=3, drift=1.0)
    X, y, segment = data.X.copy(), data.y.copy(), np.arange(len(data.y)) // 200
    for t in (8, 9, 10):  # class 2's rows are class 0's of the same segment, once more
        gone, there = (np.flatnonzero((segment == t) & (y == c)) for c in (2, 0))
        X[gone], y[gone] = X[np.resize(there, len(gone))], 0
    out = run("tracker", support.table(X, y))
    assert out.curves["share_least"][:, 9].max() < 0.12  # about (2 / 3)^3 / 3, share being 2
    assert out.curves["test_acc"][:, -4:].min() > 0.9


def test_return_asks_for_most_rows_of_every_class():
    f = torch.tensor([0, 0, 0, 1, 1, 1])
    assert returns(f, torch.tensor([0, 0, 1, 1, 1, 0]), 2)
    assert not returns(f, torch.tensor([0, 0, 0, 0, 0, 1]), 2)
    assert not returns(f, 1 - f, 2)


def test_tested_rows_are_spread_over_the_segment():
    assert evenly(3).tolist() == [0, 1, 2]
    assert evenly(1001)[[0, -1]].tolist() == [0, 1000]


PLACE = torch.tensor([[-5.0, 0], [5, 0]]).double()
ROWS = PLACE.repeat(5, 1)  # ten


def chosen(means, ahead, share=(2.0, 2.0), last=0):
    """(the member of two that decides, the labeler), the second `ahead` of the first."""
    mean = torch.stack(means)
    cov, weight = torch.eye(2).double().expand(2, 2, 2, 2), torch.full((2, 2), 0.5).double()
    mix = Mixture(mean, cov, weight, cov[:, 0], torch.arange(2).expand(2, 2))
    none, score = torch.zeros(0, 2, 2).double(), torch.tensor([0.0, ahead]).double()
    bank = Bank(mix, torch.zeros_like(mean), none, none, score, torch.tensor(share))
    labeler = Tracker.__new__(Tracker)
    labeler.last, labeler.stay = [last], 0.1
    return labeler.chosen(0, bank, ROWS, 2), labeler


@pytest.mark.parametrize(("ahead", "found"), [(0.5, 0), (2.0, 1)])
def test_a_member_that_relabels_rows_must_be_ahead_for_each_of_them(ahead, found):
    names = [PLACE, PLACE.flip(0)]  # the second calls every row by the other name
    best, labeler = chosen(names, ahead)
    assert (best, labeler.last) == (found, [found])
    assert chosen(names, ahead, last=None)[0] == 1  # nothing was said before: the score decides


def test_a_member_that_says_the_same_takes_over_at_once():
    assert chosen([PLACE, 1.02 * PLACE], 1e-6)[0] == 1


@pytest.mark.parametrize(("ahead", "found"), [(HASTE - 0.1, 0), (HASTE + 0.1, 1)])
def test_a_member_that_forgets_shares_sooner_must_be_ahead_by_a_few_nats(ahead, found):
    assert chosen([PLACE, PLACE], ahead, share=(2.0, 0.5))[0] == found


def test_the_trackers_labels_feed_the_replay_of_ours():
    out = support.run("method=ours_tracker", seeds=(10,)).outcome
    assert out.curves["pseudo_label_acc"].min() > 0.9
