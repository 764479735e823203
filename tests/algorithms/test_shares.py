"""Prototypes with shares: against a slow version, a rare class, and the network's say."""

import numpy as np
import pytest
import torch

from sdsl.algorithms.shares import assign_by_shares

C = 3


def rows(sizes, seed=0, m=4):
    """(features [1, n, m], labels [1, n]) of Gaussian classes 3 standard deviations apart."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    f = rng.normal(size=(len(y), m)) + 3 * np.eye(len(sizes), m)[y]
    return torch.tensor(f)[None].float(), torch.tensor(y)[None]


def means(f, y, classes=C):
    return torch.stack([f[0, y[0] == c].mean(0) for c in range(classes)])[None]


def nothing(f, classes=C):
    """Nothing is known of the shares before."""
    return torch.zeros(len(f), classes)


def slow(f, U, y, logits, trust, before):
    """The formula, row by row, with the pseudo-inverse of the spread in all features."""
    f, U, y = f[0].double().numpy(), U[0].double().numpy(), y[0].numpy()
    count = np.bincount(y, minlength=len(U)) + np.array(before) + 1
    share = np.log(count / count.sum())
    basis = np.linalg.svd(U - U.mean(0))[2][: len(U) - 1]
    gaps = (f - U[y]) @ basis.T
    inverse = np.linalg.inv(gaps.T @ gaps / len(y))
    p = logits[0].double().numpy()
    p = p - np.log(np.exp(p).sum(1, keepdims=True))
    found = []
    for x, own in zip(f, p, strict=True):
        far = [(basis @ (x - u)) @ inverse @ (basis @ (x - u)) for u in U]
        score = share - np.array(far) / 2
        found.append(np.argmax((1 - trust / 2) * score + trust / 2 * own))
    return found


@pytest.mark.parametrize("before", [(0, 0, 0), (20, 100, 5)])
@pytest.mark.parametrize("trust", [0.0, 0.4, 1.0])
def test_against_a_slow_version(trust, before):
    f, y = rows([60, 30, 10])
    logits = torch.randn(1, 100, C, generator=torch.Generator().manual_seed(0))
    U = means(f, y)
    rows_before = torch.tensor([before])
    found, share = assign_by_shares(f, U, y, logits, torch.tensor([trust]), rows_before, rounds=1)
    assert found[0].tolist() == slow(f, U, y, logits, trust, before)
    counts = np.array([61, 31, 11]) + before
    assert share[0].tolist() == pytest.approx((counts / counts.sum()).tolist())


def test_a_rare_class_is_not_filled_up():
    """Nearest prototypes give class 1 the edge of class 0; with shares it keeps its own rows."""
    f, y = rows([1900, 100], m=2)
    U = means(f, y, 2)
    nearest = torch.cdist(f, U).argmin(2)
    found, _ = assign_by_shares(f, U, y, torch.zeros(1, 2000, 2), torch.zeros(1), nothing(f, 2))
    edge = y == 0
    assert int(found[edge].sum()) < int(nearest[edge].sum()) / 2
    assert int((found != y).sum()) < int((nearest != y).sum())


def test_trust_in_gold_gives_the_network_a_say():
    f, y = rows([40, 40, 40])
    other = 20 * torch.nn.functional.one_hot((y + 1) % C, C).float()
    U = means(f, y)
    alone, _ = assign_by_shares(f, U, y, other, torch.tensor([0.0]), nothing(f))
    both, _ = assign_by_shares(f, U, y, other, torch.tensor([1.0]), nothing(f))
    assert (alone == y).float().mean() > 0.9
    assert (both == y).float().mean() < 0.5


def test_prototypes_in_one_place_and_empty_classes_break_nothing():
    f, y = rows([40, 40, 40])
    U = means(f, y)
    U[:, 2] = U[:, 1]
    empty = torch.zeros_like(y)
    rest = torch.zeros(1, 120, C), torch.tensor([0.5]), nothing(f)
    found, _ = assign_by_shares(f, U, empty, *rest)
    assert found.min() >= 0 and found.max() < C
    one, _ = assign_by_shares(f, U * 0, y, *rest)
    assert one.shape == y.shape


def test_replicas_do_not_mix():
    parts = [rows([60, 30, 10], seed) for seed in (1, 2)]
    f, y = (torch.cat(pair) for pair in zip(*parts, strict=True))
    U = torch.cat([means(*part) for part in parts])
    logits = torch.randn(2, 100, C, generator=torch.Generator().manual_seed(0))
    trust = torch.tensor([0.2, 0.9])
    before = torch.tensor([[5.0, 0, 90], [0, 9, 1]])
    together = assign_by_shares(f, U, y, logits, trust, before)
    for s in (0, 1):
        own = [thing[s : s + 1] for thing in (f, U, y, logits, trust, before)]
        for alone, beside in zip(assign_by_shares(*own), together, strict=True):
            assert torch.equal(alone[0], beside[s])


def test_the_last_shares_keep_a_rare_class_from_taking_half_of_a_large_one():
    """Both prototypes stand in the large class, as after a network that cut it in two."""
    f, y = rows([950, 50], m=2)
    U = means(f, (f[:, :, 0] < f[0, :950, 0].mean()).long(), 2)
    none, last = nothing(f, 2), torch.tensor([[1900.0, 100.0]])
    given = torch.cdist(f, U).argmin(2), torch.zeros(1, 1000, 2), torch.zeros(1)
    free, held = (assign_by_shares(f, U, *given, before)[0] for before in (none, last))
    assert (free[y == 0] == 1).float().mean() > 0.2
    assert (held[y == 0] == 1).float().mean() < 0.05
