"""The short lookback: how many rows survive, and which."""

import pytest
import torch
import torch.nn.functional as F
from support import some_rows

from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.lookback import Lookback
from sdsl.core.rows import Rows


def keep(select: str, size: int, given: Rows, shares="equal", name="keep", classes=3) -> Rows:
    learner = Learner((2, 8, classes), Draws(0, "init"))
    return Lookback(size, select, shares).keep(given, learner, Draws(0, name))


def pairs(rows: Rows) -> list[tuple]:
    return [(*x, c) for x, c in zip(rows.X.tolist(), rows.y.tolist(), strict=True)]


def counted(rows: Rows, classes=3) -> list[int]:
    return rows.y.bincount(minlength=classes).tolist()


def of_classes(*counts: int) -> Rows:
    y = torch.repeat_interleave(torch.arange(len(counts)), torch.tensor(counts))
    return Rows(some_rows(len(y), seed=1).X, y)


@pytest.mark.parametrize("select", ["stratified", "random", "nearest"])
@pytest.mark.parametrize("shares", ["equal", "kept"])
@pytest.mark.parametrize("size", [0, 1, 12, 39, 40, 100])
def test_at_most_size_rows_with_their_labels(select, shares, size):
    given = some_rows(40)
    kept = pairs(keep(select, size, given, shares))
    assert len(set(kept)) == len(kept) == min(size, 40)
    assert set(kept) <= set(pairs(given))
    if size >= 40:  # nothing has to go, so the order stays
        assert kept == pairs(given)
    for n in (0, 3, 9):  # a view of a segment does not keep the segment
        kept = keep(select, size, given[:n])
        assert kept.X.untyped_storage().nbytes() == len(kept) * 2 * 4
        assert len(kept) == min(n, size)


@pytest.mark.parametrize("select", ["stratified", "nearest"])
def test_shares_of_the_classes(select):
    """Equal as far as a class's rows go; or those of the rows, but some of every class."""
    assert counted(keep(select, 12, of_classes(30, 8, 2))) == [5, 5, 2]
    given = of_classes(180, 18, 2)
    assert counted(keep(select, 50, given)) == [30, 18, 2]
    # 90, 9 and 1 % of 50 rows are 45, 4.5 and 0.5; 5 of each at least, of class 2 all there are.
    assert counted(keep(select, 50, given, "kept")) == [43, 5, 2]
    assert counted(keep(select, 50, of_classes(180, 18), "kept")) == [45, 5, 0]
    many = keep(select, 20, of_classes(*[4] * 10), "kept", classes=10)
    assert counted(many, 10) == [2] * 10


def test_rows_are_drawn():
    kept = keep("random", 200, of_classes(300, 100))
    assert abs(kept.y.float().mean() - 0.25) < 0.08
    given = of_classes(40)
    one, other = (keep("stratified", 10, given, name=name) for name in ("one", "other"))
    assert not torch.equal(one.X, other.X) and not torch.equal(one.X, given.X[:10])


def test_nearest_keeps_the_rows_most_like_their_class():
    given, learner = some_rows(40), Learner((2, 8, 3), Draws(0, "init"))
    kept = keep("nearest", 9, given)
    for c in range(3):
        X = given.X[given.y == c]
        f = learner.features(X)
        far = 1 - F.cosine_similarity(f, f.mean(0, keepdim=True))
        assert sorted(kept.X[kept.y == c].tolist()) == sorted(X[far.argsort()[:3]].tolist())
