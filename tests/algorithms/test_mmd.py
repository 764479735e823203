"""MMD^2 against a plain NumPy version, its gradient against autograd, and its expectation."""

import numpy as np
import pytest
import torch

from sdsl.algorithms.mmd import kernels, mmd

SIZES = [(12, 12), (5, 9), (4, 9), (2, 2), (2, 3), (64, 33)]


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


def sets(n: int, m: int, C=3, seed=0, shift=1.0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    x, y = (rng.normal(size=(rows, C)).astype(np.float32) for rows in (n, m))
    return x, y + np.float32(shift)


def value_and_slopes(x, y, weight=1.0) -> tuple[float, np.ndarray, np.ndarray]:
    dx, dy = np.zeros_like(x), np.zeros_like(y)
    return mmd(x, y, weight, dx, dy), dx, dy


@pytest.mark.parametrize("C", [1, 2, 10])
@pytest.mark.parametrize("n, m", SIZES)
def test_matches_the_definition(n, m, C):
    x, y = sets(n, m, C)
    np.testing.assert_allclose(value_and_slopes(x, y)[0], plain(x, y), rtol=1e-5, atol=1e-6)


def test_nothing_to_compare_weighs_nothing():
    for n, m in ((1, 12), (12, 0), (12, 1), (0, 0)):
        value, dx, dy = value_and_slopes(*sets(n, m))
        assert value == 0 and not dx.any() and not dy.any()
    z = np.zeros((12, 3), np.float32)  # all points equal: no bandwidth
    value, dx, dy = value_and_slopes(z, z)
    assert np.isfinite(dx).all() and np.isfinite(dy).all()
    assert abs(value) < 1e-5


@pytest.mark.parametrize("n, m", SIZES)
def test_gradient_matches_autograd_through_the_definition(n, m):
    x, y = sets(n, m)
    z = torch.tensor(np.concatenate([x, y])).double().requires_grad_()
    d = (z[:, None] - z[None]).square().sum(2)
    N = n + m
    b = d.detach().sum() / (N * N - N)
    k = sum(torch.exp(-d / (b * 2.0**q)) for q in (-2, -1, 0, 1, 2)) * (1 - torch.eye(N))
    value = k[:n, :n].sum() / (n * (n - 1)) + k[n:, n:].sum() / (m * (m - 1))
    (want,) = torch.autograd.grad(value - 2 * k[:n, n:].mean(), z)
    _, dx, dy = value_and_slopes(x, y)
    np.testing.assert_allclose(np.concatenate([dx, dy]), want, rtol=1e-4, atol=1e-7)


def test_its_slope_is_weighed_and_added():
    x, y = sets(5, 9)
    _, dx, dy = value_and_slopes(x, y)
    more, other = np.ones_like(x), np.ones_like(y)
    mmd(x, y, 0.5, more, other)
    np.testing.assert_allclose(more, 1 + 0.5 * dx, rtol=1e-6)
    np.testing.assert_allclose(other, 1 + 0.5 * dy, rtol=1e-6)


def test_the_exponential_is_libms():
    d = np.concatenate([np.linspace(0, 90, 100_001), [1e30, np.inf]]).astype(np.float32)[None]
    e = np.exp(-d.astype(float))
    slope, kernel = d.copy(), np.empty_like(d)
    kernels(slope, np.float32(-1), kernel)
    powers = [e, e**2, e**4, e**8, e**16]
    np.testing.assert_allclose(kernel, sum(powers), rtol=1e-6, atol=1e-36)
    slow = sum(2**q * p for q, p in enumerate(powers))
    np.testing.assert_allclose(slope, slow, rtol=2e-6, atol=1e-36)
    lost = np.array([[np.nan]], np.float32)
    kernels(lost, np.float32(-1), lost)
    assert np.isnan(lost).all()


def test_zero_in_expectation_for_equal_distributions_only():
    seeds = range(4000)
    same = np.array([value_and_slopes(*sets(12, 12, seed=k, shift=0.0))[0] for k in seeds])
    error = same.std() / len(same) ** 0.5
    assert same.min() < 0 < same.max()  # unbiased, so of either sign
    assert abs(same.mean()) < 3 * error
    shifted = [value_and_slopes(*sets(12, 12, seed=k, shift=0.5))[0] for k in seeds]
    assert np.mean(shifted) > 30 * error


def test_where_in_memory_the_points_lie_changes_no_bit():
    x, y = sets(50, 33)
    value, dx, dy = value_and_slopes(x, y)
    for skip in range(1, 5):
        room = np.zeros((skip + 3 * (50 + 33),), np.float32)
        room[skip:] = np.concatenate([x, y]).ravel()
        both = room[skip:].reshape(83, 3)
        again = value_and_slopes(both[:50], both[50:])
        assert again[0] == value and (again[1] == dx).all() and (again[2] == dy).all()
