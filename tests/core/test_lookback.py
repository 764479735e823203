"""The short lookback: how many rows survive, and which."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F

from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.replica import Draws, Rows

SEEDS = (0, 1)
SELECT = ["stratified", "random", "nearest"]


@pytest.fixture
def learner() -> Learner:
    return Learner((2, 8, 3), SEEDS)


def rows(n=40, counts=(40, 25), classes=3) -> Rows:
    g = torch.Generator().manual_seed(0)
    X = torch.randn(len(counts), n, 2, generator=g)
    return Rows(X, torch.randint(0, classes, (len(counts), n), generator=g), torch.tensor(counts))


def keep(select: str, size: int, given: Rows, learner: Learner) -> Rows:
    return Lookback(size, select, "equal").keep(given, learner, Draws(SEEDS, "keep"))


def pairs(X, y) -> list[tuple]:
    return [(*x, c) for x, c in zip(X.tolist(), y.tolist(), strict=True)]


@pytest.mark.parametrize("select", SELECT)
@pytest.mark.parametrize("size", [0, 1, 12, 30, 100])
def test_at_most_size_real_rows_with_their_labels(select, size, learner):
    given = rows()
    kept = keep(select, size, given, learner)
    assert kept.count.tolist() == [min(size, 40), min(size, 25)]
    assert kept.X.shape[1] <= size
    for s in range(2):
        real, mine = pairs(*given.replica(s)), pairs(*kept.replica(s))
        assert set(mine) <= set(real)
        assert len(set(mine)) == len(mine)


@pytest.mark.parametrize("select", SELECT)
def test_where_nothing_has_to_go_the_order_stays(select, learner):
    given = rows(n=8, counts=(8, 3))
    kept = keep(select, 8, given, learner)
    for s in range(2):
        assert pairs(*kept.replica(s)) == pairs(*given.replica(s))


@pytest.mark.parametrize("select", SELECT)
def test_no_rows_at_all(select, learner):
    kept = keep(select, 5, Rows.empty_like(torch.zeros(2, 9, 2)), learner)
    assert kept.count.tolist() == [0, 0]
    assert kept.X.shape == (2, 0, 2)


@pytest.mark.parametrize("select", ["stratified", "nearest"])
def test_classes_have_equal_shares_as_far_as_their_rows_go(select, learner):
    y = torch.tensor([[0] * 30 + [1] * 8 + [2] * 2] * 2)
    kept = keep(select, 12, Rows.full(torch.randn(2, 40, 2), y), learner)
    for s in range(2):
        assert kept.y[s].bincount(minlength=3).tolist() == [5, 5, 2]


def test_random_keeps_the_proportions_on_average(learner):
    y = torch.tensor([[0] * 300 + [1] * 100] * 2)
    kept = keep("random", 200, Rows.full(torch.randn(2, 400, 2), y), learner)
    assert (kept.y.float().mean(1) - 0.25).abs().max() < 0.08


def test_stratified_draws_within_a_class(learner):
    given = Rows.full(torch.randn(2, 40, 2), torch.zeros(2, 40, dtype=torch.long))
    a = Lookback(10, "stratified", "equal").keep(given, learner, Draws(SEEDS, "one"))
    b = Lookback(10, "stratified", "equal").keep(given, learner, Draws(SEEDS, "two"))
    assert not torch.equal(a.X, b.X)
    assert not torch.equal(a.X, given.X[:, :10])


def test_nearest_keeps_the_rows_most_like_their_class(learner):
    given = rows(counts=(40, 40))
    kept = keep("nearest", 9, given, learner)
    f = learner.features(given.X)
    for s in range(2):
        for c in range(3):
            mine = given.y[s] == c
            far = 1 - F.cosine_similarity(f[s, mine], f[s, mine].mean(0, keepdim=True))
            best = given.X[s, mine][far.argsort()[:3]]
            assert set(map(tuple, kept.X[s, kept.y[s] == c].tolist())) == set(
                map(tuple, best.tolist())
            )


@pytest.mark.parametrize("select", SELECT)
def test_a_replica_keeps_the_same_beside_another(select):
    given = rows(counts=(40, 40))
    fused = keep(select, 7, given, Learner((2, 8, 3), SEEDS))
    one = Rows(given.X[1:], given.y[1:], given.count[1:])
    alone = Lookback(7, select, "equal").keep(
        one, Learner((2, 8, 3), SEEDS[1:]), Draws(SEEDS[1:], "keep")
    )
    assert torch.equal(fused.X[1], alone.X[0])


@pytest.mark.parametrize("select", ["stratified", "nearest"])
def test_kept_shares_are_those_of_the_rows_but_some_of_every_class(select, learner):
    y = torch.tensor([0] * 180 + [1] * 18 + [2] * 2).expand(2, 200)
    X = torch.randn(2, 200, 2, generator=torch.Generator().manual_seed(1))
    given = Rows(X, y, torch.tensor([200, 198]))  # the second replica has no row of class 2
    kept = Lookback(50, select, "kept").keep(given, learner, Draws(SEEDS, "keep"))
    counts = [np.bincount(kept.replica(s)[1], minlength=3).tolist() for s in (0, 1)]
    # 90, 9 and 1 % of 50 rows are 45, 4.5 and 0.5; 5 of each at least, of class 2 all there are.
    assert counts == [[43, 5, 2], [45, 5, 0]]
    equal = Lookback(50, select, "equal").keep(given, learner, Draws(SEEDS, "keep"))
    assert np.bincount(equal.replica(0)[1]).tolist() == [30, 18, 2]


def test_more_classes_than_rows_to_keep_are_kept_in_equal_parts():
    given = rows(n=40, counts=(40, 40), classes=10)
    learner = Learner((2, 8, 10), SEEDS)
    kept = Lookback(20, "stratified", "kept").keep(given, learner, Draws(SEEDS, "keep"))
    assert kept.count.tolist() == [20, 20]
    assert all(len(kept.replica(s)[1].unique()) == len(given.y[s].unique()) for s in (0, 1))
