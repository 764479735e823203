"""MMD^2 against a plain NumPy version, its gradient against autograd, and its expectation."""

import numpy as np
import torch

from sdsl.algorithms.mmd import MMD, mmd_gradient, pair_weights


def plain(x: np.ndarray, y: np.ndarray) -> float:
    """The definition, pair by pair: x [n, C], y [m, C]."""
    both = np.concatenate([x, y]).astype(float)
    d = np.array([[((u - v) ** 2).sum() for v in both] for u in both])
    N, n, m = len(both), len(x), len(y)
    b = d.sum() / (N * N - N)
    k = sum(np.exp(-d / (b * 2.0**q)) for q in (-2, -1, 0, 1, 2))
    off = ~np.eye(N, dtype=bool)
    xx, yy = (k * off)[:n, :n].sum() / (n * (n - 1)), (k * off)[n:, n:].sum() / (m * (m - 1))
    return xx + yy - 2 * k[:n, n:].mean()


def padded(sizes, b=12, C=3, seed=0, shift=1.0):
    """z [B, C, 2b], real, pairs for ragged sets: (rows of x, rows of y) a replica."""
    z = torch.randn(len(sizes), C, 2 * b, generator=torch.Generator().manual_seed(seed))
    z[:, :, b:] += shift
    n, m = torch.tensor(sizes).T
    x, y = torch.arange(b) < n[:, None], torch.arange(b) < m[:, None]
    return z, torch.cat([x, y], 1), pair_weights(x, y)


def test_matches_the_definition_for_ragged_sets():
    sizes = [(12, 12), (5, 9), (2, 2)]
    z, real, pairs = padded(sizes)
    got = MMD.apply(z, real, pairs)
    for s, (n, m) in enumerate(sizes):
        want = plain(z[s, :, :n].T.numpy(), z[s, :, 12 : 12 + m].T.numpy())
        np.testing.assert_allclose(got[s], want, rtol=1e-5, atol=1e-6)


def test_nothing_to_compare_weighs_nothing():
    z, real, pairs = padded([(1, 12), (12, 0)])
    assert torch.equal(MMD.apply(z, real, pairs), torch.zeros(2))
    z = torch.zeros(1, 3, 24)  # all points equal: no bandwidth
    _, real, pairs = padded([(12, 12)])
    assert torch.isfinite(mmd_gradient(z, real, pairs)).all()
    assert abs(MMD.apply(z, real, pairs)) < 1e-5


def test_gradient_matches_autograd_through_the_definition():
    z, real, pairs = padded([(12, 12), (5, 9)])
    z, pairs = z.double().requires_grad_(), pairs.double()
    d = (z[:, :, :, None] - z[:, :, None, :]).square().sum(1)
    both = real[:, :, None] & real[:, None, :]
    N = real.sum(1)[:, None, None]
    b = (d * both).sum((1, 2), keepdim=True).detach() / (N * N - N)
    value = sum((torch.exp(-d / (b * 2.0**q)) * pairs).sum() for q in (-2, -1, 0, 1, 2))
    (want,) = torch.autograd.grad(value, z)
    (got,) = torch.autograd.grad(MMD.apply(z, real, pairs).sum(), z)
    torch.testing.assert_close(got, want, rtol=1e-4, atol=1e-7)


def test_zero_in_expectation_for_equal_distributions_only():
    sizes = [(12, 12)] * 4000
    same = MMD.apply(*padded(sizes, shift=0.0))
    error = same.std() / len(sizes) ** 0.5
    assert same.min() < 0 < same.max()  # unbiased, so of either sign
    assert same.mean().abs() < 3 * error
    assert MMD.apply(*padded(sizes, shift=0.5)).mean() > 30 * error


def test_a_replica_does_not_see_its_neighbours():
    z, real, pairs = padded([(64, 64), (30, 64), (64, 25)], b=64, C=2)
    fused, grads = MMD.apply(z, real, pairs), mmd_gradient(z, real, pairs)
    for s in range(3):
        alone = z[s : s + 1].clone(), real[s : s + 1].clone(), pairs[s : s + 1].clone()
        assert torch.equal(MMD.apply(*alone)[0], fused[s])
        assert torch.equal(mmd_gradient(*alone)[0], grads[s])
