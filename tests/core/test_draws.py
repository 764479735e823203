"""Random numbers by name; rows; minibatches with a mean of their own for every set."""

import pytest
import support
import torch
from support import some_rows

from sdsl.core.draws import Batches, Draws, derive
from sdsl.core.rows import Rows, rank_in_class


def test_generators_differ_by_name_and_by_seed():
    seeds = {derive(seed, name) for seed in range(50) for name in ("split", "init", "batches")}
    assert len(seeds) == 150
    assert all(0 <= s < 2**63 for s in seeds)


@pytest.mark.parametrize("kind", ["uniform", "normal", "permutation"])
def test_draws_go_on_from_their_state(kind):
    one, other = Draws(5, "x"), Draws(6, "y")
    first, state, second = getattr(one, kind)(7), one.state(), getattr(one, kind)(7)
    assert not torch.equal(first, second)
    assert torch.equal(first, getattr(Draws(5, "x"), kind)(7))
    other.restore(state)
    assert torch.equal(second, getattr(other, kind)(7))


def test_rows():
    rows = some_rows(6)
    assert len(rows) == 6
    both = Rows.cat(rows[rows.y == 1], rows[torch.tensor([4, 0])], Rows.empty(2))
    assert torch.equal(both.X, torch.cat([rows.X[rows.y == 1], rows.X[[4, 0]]]))
    assert both.y.tolist() == [1] * int((rows.y == 1).sum()) + rows.y[[4, 0]].tolist()
    assert Rows.unlabelled(rows.X).y.tolist() == [0] * 6


def test_ranks_count_the_smaller_keys_of_the_same_class():
    key, y = torch.rand(20, generator=torch.Generator().manual_seed(0)), some_rows(20, classes=4).y
    slow = [int(((y == y[i]) & (key < key[i])).sum()) for i in range(20)]
    assert rank_in_class(key, y, 4).tolist() == slow
    ties = torch.tensor([0, 1, 0, 0, 1])
    assert rank_in_class(torch.zeros(5), ties, 2).tolist() == [0, 0, 1, 2, 1]


def test_a_digest_tells_values_labels_and_order():
    table = support.blobs(20)
    X, y = table.X, table.y
    nearby, flipped = X.copy(), y.copy()
    nearby[3, 1] += 1e-6
    flipped[4] = 1 - y[4]
    others = (X, y, "a name"), (nearby, y), (X, flipped), (X[::-1], y[::-1])
    assert len({support.table(*other).digest() for other in others} | {table.digest()}) == 4


@pytest.mark.parametrize("batch", [0, 8])
def test_every_set_has_a_mean_of_its_own(batch):
    """sum of w * loss = sum_k weight_k * mean over set k, for a loss that is constant in a set."""
    sets = [some_rows(2), some_rows(9), Rows.empty(2)]
    steps = list(Batches(sets, [1.0, 0.5, 7.0], 3, batch, Draws(0, "b")))
    assert len(steps) == 3
    for x, y, w in steps:
        assert len(x) == len(y) == len(w) == (3 * batch or 11)
        assert w.sum() == pytest.approx(1.5)
        assert w[: batch or 2].sum() == pytest.approx(1)
        if not batch:  # every row, in order
            assert torch.equal(x, Rows.cat(*sets).X) and torch.equal(y, Rows.cat(*sets).y)


def test_minibatches_draw_every_row_of_a_set_with_its_label():
    sets, seen = [some_rows(3), Rows.empty(2), some_rows(4, seed=1)], [set(), set(), set()]
    labels = {tuple(x): y for rows in sets for x, y in zip(rows.X.tolist(), rows.y, strict=True)}
    for x, y, w in Batches(sets, [1.0, 1.0, 1.0], 60, 4, Draws(0, "b")):
        assert y.tolist() == [labels[tuple(row)] for row in x.tolist()]
        assert w[4:8].tolist() == [0] * 4  # the empty set: any row, without weight
        for k, part in enumerate(x.split(4)):
            seen[k] |= set(map(tuple, part.tolist()))
    assert seen[0] == set(map(tuple, sets[0].X.tolist()))
    assert seen[2] == set(map(tuple, sets[2].X.tolist()))
