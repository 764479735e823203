"""Prediction in context against a plain loop; whitening that outlives a change of scale."""

import numpy as np
import pytest
import torch
from memory_support import segments

from sdsl.algorithms import context
from sdsl.algorithms.context import Grid, in_context, several
from sdsl.algorithms.merging import reduced
from sdsl.algorithms.mixture import by_class
from sdsl.algorithms.present import fit
from sdsl.algorithms.recall import at_times
from sdsl.algorithms.whitening import Whitening

LAST, C, PRESENT = 11, 2, 0.9


def batches(n: int, B: int = 5):
    """(clusters, log p_now [B, n, C], Z [B, n, d]) of batches from several times."""
    c, g = reduced(segments(), 8), torch.Generator().manual_seed(n)
    Z, y = torch.randn(B, n, 3, generator=g).double(), torch.arange(n) % 2
    for b in range(B):
        t = 11 * b / max(1, B - 1)
        Z[b, y == 1] += torch.tensor([3.0, 0.3 * t, -0.1 * t])
    rows = torch.randn(200, 3, generator=g).double()
    labels = torch.arange(200) % 2
    rows[labels == 1] += torch.tensor([3.0, 3.3, -1.1])
    now = fit(rows, labels, C, 1)
    joint = by_class(now.joint(Z.flatten(0, 1)), now.owner, C).view(B, n, C)
    return c, joint, Z


def slow(c, now, Z, last: float) -> np.ndarray:
    """Every time, every row, in NumPy; no time is left out and no row."""
    U = min(last + 1, context.TIMES)
    times = torch.linspace(0, last, U).double()
    prior = np.log([PRESENT, *[(1 - PRESENT) / U] * U])
    out = []
    for b in range(len(Z)):
        past = by_class(at_times(c, Z[b], times), c.owner, C)  # [U, n, C]
        p = np.concatenate([now[b][None], past]).astype(float)  # [U + 1, n, C]
        like, n = np.log(np.exp(p).sum(2)), p.shape[1]
        w = prior + like.mean(1) * min(n, context.TRUST)
        w = w - np.log(np.exp(w - w.max()).sum()) - w.max()
        v = np.exp(prior)
        for _ in range(context.ROUNDS):
            r = v[:, None] * np.exp(like)
            v = (np.exp(prior) + (r / r.sum(0)).sum(1)) / (1 + n)
        gain = np.log((v[:, None] * np.exp(like)).sum(0)) - np.log(np.exp(w[:, None] + like).sum(0))
        weight = np.log(v) if gain.mean() > context.MARGIN else w
        out.append(np.log(np.exp(weight[:, None, None] + p).sum(0)))
    return np.array(out)


@pytest.mark.parametrize("n", [1, 2, 10, 24])
def test_agrees_with_the_plain_loop(n, monkeypatch):
    monkeypatch.setattr(context, "LIKELY", context.TIMES)
    monkeypatch.setattr(context, "NEGLIGIBLE", -1e9)
    c, now, Z = batches(n)
    zero = torch.zeros(()).double()
    found = in_context(now, Grid.of(c, zero, LAST, PRESENT), Z).numpy()
    assert np.allclose(found, slow(c, now, Z, LAST), atol=1e-8)


@pytest.mark.parametrize("n", [10, 120])
def test_what_is_left_out_changes_next_to_nothing(n):
    c, now, Z = batches(n)
    found = in_context(now, Grid.of(c, torch.zeros(()).double(), LAST, PRESENT), Z)
    same = found.argmax(2).numpy() == slow(c, now, Z, LAST).argmax(2)
    assert same.mean() > 0.98


def test_a_batch_is_predicted_for_itself():
    c, now, Z = batches(30)
    zero = torch.zeros(()).double()
    together = in_context(now, Grid.of(c, zero, LAST, PRESENT), Z)
    for b in range(len(Z)):
        alone = in_context(now[b : b + 1], Grid.of(c, zero, LAST, PRESENT), Z[b : b + 1])
        assert torch.allclose(together[b], alone[0])


def test_weights_of_several_times_are_a_distribution():
    like = np.random.default_rng(0).normal(size=(5, 20))
    assert np.isclose(np.exp(several(like, np.full(5, np.log(0.2)))).sum(), 1)


def test_finite_far_from_everything():
    c, now, Z = batches(10)
    grid = Grid.of(c, torch.zeros(()).double(), LAST, PRESENT)
    far = in_context(now - 1e12, grid, Z + 1e6)
    assert not far.isnan().any()


@pytest.mark.parametrize("d", [3, 70])
def test_whitening_outlives_a_change_of_scale(d):
    g = torch.Generator().manual_seed(0)
    X, y = torch.randn(90, d, generator=g).double(), torch.arange(90) % 3
    X = X @ (torch.eye(d).double() + 0.3) + 2.0 * y[:, None]
    scale, shift = torch.rand(d, generator=g).double() + 0.1, torch.randn(d, generator=g).double()
    one, other = Whitening.fit(X, y), Whitening.fit(X * scale + shift, y)
    assert torch.allclose(one(X), other(X * scale + shift))
    assert torch.allclose(one.undo(one(X)), X)
    assert torch.isclose(one.log_det, other.log_det + scale.log().sum())


def test_whitening_makes_classes_unit_spheres():
    g = torch.Generator().manual_seed(0)
    y = torch.arange(20_000) % 2
    X = torch.randn(20_000, 2, generator=g).double() @ torch.tensor([[2.0, 1.0], [0, 0.5]]).double()
    Z = Whitening.fit(X + 5.0 * y[:, None], y)(X)
    assert torch.allclose(torch.cov(Z.mT), torch.eye(2).double(), atol=0.1)
    _, log = torch.linalg.slogdet(Whitening.fit(X, y).to)
    assert torch.isclose(log, Whitening.fit(X, y).log_det)


def test_a_constant_feature_has_no_scale():
    X, y = torch.cat([torch.randn(30, 2), torch.full((30, 1), 7.0)], 1), torch.arange(30) % 2
    assert Whitening.fit(X, y)(X).isfinite().all()
