"""The replica axis: a seed's own numbers, ragged row sets, minibatches with a mean a set."""

import numpy as np
import pytest
import torch

from sdsl.core.replica import Batches, Draws, Rows, derive, take


def rows(counts=(3, 1), n=4, d=2) -> Rows:
    X = torch.arange(len(counts) * n * d, dtype=torch.float32).view(len(counts), n, d)
    y = torch.arange(len(counts) * n).view(len(counts), n) % 3
    return Rows(X, y, torch.tensor(counts))


def test_generators_differ_by_name_and_by_seed():
    seeds = {derive(seed, name) for seed in range(50) for name in ("split", "init", "batches")}
    assert len(seeds) == 150
    assert all(0 <= s < 2**63 for s in seeds)


@pytest.mark.parametrize("kind", ["uniform", "normal", "permutation"])
def test_a_seed_draws_the_same_beside_any_others(kind):
    alone, fused = Draws([5], "x"), Draws([2, 5, 9], "x")
    for _ in range(3):  # from the second draw on the generators have a state to lose
        assert torch.equal(getattr(alone, kind)(7)[0], getattr(fused, kind)(7)[1])


@pytest.mark.parametrize("shape", [(2, 8, 1), (2, 480, 57), (1, 1, 1), (2, 0, 3)])
@pytest.mark.parametrize("kind", ["normals", "uniforms"])
def test_numbers_for_many_steps_come_in_parts_that_no_other_seed_changes(kind, shape):
    alone, fused = Draws([5], "x"), Draws([2, 5], "x")
    list(getattr(fused, kind)(0, 7, *shape))
    found = [list(getattr(d, kind)(s, 40, *shape)) for d, s in ((alone, 0), (fused, 1))]
    assert sum(len(part) for part in found[0]) == 40
    assert all(part.shape[1:] == shape for part in found[0])
    assert all(torch.equal(a, b) for a, b in zip(*found, strict=True))


def test_take_is_indexing_a_replica_at_a_time():
    X, index = torch.randn(3, 5, 2), torch.randint(0, 5, (3, 4))
    assert torch.equal(take(X, index), torch.stack([X[s, index[s]] for s in range(3)]))
    deep = torch.randint(0, 5, (3, 2, 4))
    assert torch.equal(take(X, deep), torch.stack([X[s, deep[s]] for s in range(3)]))


def test_only_the_first_rows_are_real():
    ragged = rows()
    assert ragged.mask.tolist() == [[True, True, True, False], [True, False, False, False]]
    assert ragged.replica(1)[0].tolist() == [[8, 9]]
    assert ragged.replica(1)[1].tolist() == [1]


def test_where_keeps_order_and_width_and_never_takes_padding():
    kept = rows().where(torch.tensor([[False, True, True, True], [False] * 4]))
    assert kept.count.tolist() == [2, 0]
    assert kept.replica(0)[0].tolist() == [[2, 3], [4, 5]]
    assert kept.X.shape == (2, 4, 2)
    assert kept.narrow().X.shape == (2, 2, 2)
    assert kept.narrow().replica(0)[0].tolist() == [[2, 3], [4, 5]]


def test_ragged_is_the_inverse_of_replica():
    made = rows((3, 0))
    again = Rows.ragged([made.replica(s) for s in range(2)])
    for s in range(2):
        for a, b in zip(made.replica(s), again.replica(s), strict=True):
            assert torch.equal(a, b)


def test_an_empty_set_has_no_rows():
    assert Rows.empty_like(torch.zeros(3, 9, 4)).mask.shape == (3, 0)


@pytest.mark.parametrize("batch", [0, 8])
def test_every_set_has_a_mean_of_its_own(batch):
    """sum of w * loss = sum_k weight_k * mean over set k, for a loss that is constant in a set."""
    small, large = rows((2, 1), n=2), rows((9, 3), n=9)
    empty = Rows.empty_like(small.X)
    draws = Draws([0, 1], "b")
    for x, y, w in Batches([small, large, empty], [1.0, 0.5, 7.0], 3, batch, draws):
        assert x.shape[:2] == y.shape == w.shape
        constant = torch.ones_like(w)
        torch.testing.assert_close((w * constant).sum(1), torch.tensor([1.5, 1.5]))


def test_full_batches_weigh_padding_nothing():
    x, _, w = next(iter(Batches([rows((3, 1))], [1.0], 1, 0, Draws([0, 1], "b"))))
    assert torch.equal(x, rows().X)
    np.testing.assert_allclose(w, [[1 / 3, 1 / 3, 1 / 3, 0], [1, 0, 0, 0]])


def test_minibatches_draw_every_real_row_and_no_padding():
    sets, X, labels = [rows((3, 1)), rows((2, 4))], rows().X, rows().y
    seen = [set(), set()]
    for x, y, _ in Batches(sets, [1.0, 1.0], 60, 4, Draws([0, 1], "b")):
        for s in range(2):
            seen[s] |= {(half, *row.tolist()) for half in (0, 1) for row in x[s].split(4)[half]}
            label = {tuple(x): y for x, y in zip(X[s].tolist(), labels[s].tolist(), strict=True)}
            assert y[s].tolist() == [label[tuple(row)] for row in x[s].tolist()]
    for s in range(2):
        real = {(k, *row.tolist()) for k, part in enumerate(sets) for row in part.replica(s)[0]}
        assert seen[s] == real


def test_minibatches_do_not_depend_on_the_padding_of_others():
    alone = Rows.full(torch.randn(1, 3, 2), torch.zeros(1, 3, dtype=torch.long))
    wide = Rows.ragged([alone.replica(0), (torch.randn(9, 2), torch.ones(9, dtype=torch.long))])
    one = Batches([alone], [1.0], 5, 4, Draws([3], "b"))
    two = Batches([wide], [1.0], 5, 4, Draws([3, 8], "b"))
    for (x, _, _), (x2, _, _) in zip(one, two, strict=True):
        assert torch.equal(x[0], x2[0])
