"""Present and snapshots by plain densities; the budget of the snapshots; any labeler's rows."""

import numpy as np
import pytest
import torch
from made_steps import learner, step
from scipy.stats import multivariate_normal

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.rows import Rows
from sdsl.labelers.tracker import Tracked, fit

C = 3


def rows(t: int, d: int = 2, n: int = 90) -> Rows:
    """Three Gaussians on a circle that turns."""
    rng, y = np.random.default_rng(t), np.arange(n) % C
    X, angle = rng.normal(size=(n, d)), 2 * np.pi * y / C + 0.3 * t
    X[:, :2] += 2 * np.c_[np.cos(angle), np.sin(angle)]
    return Rows(torch.tensor(X).float(), torch.tensor(y))


def begun(d: int = 2, **settings):
    how, of = component("replay", "mixture", **settings), learner(d, C)
    how.start(rows(0, d), of, of.init)
    return how, of


def replayed(how, of, t: int, given: Rows | None = None, mixture=None) -> dict:
    given = rows(t, of.sizes[0]) if given is None else given
    now = step(Rows.empty(2), Rows.empty(2), given.X, t=t)
    pseudo = Pseudo(None, given) if mixture is None else Tracked(None, given, mixture=mixture)
    return how.replay(now, pseudo, of)


def whole(cov: np.ndarray, d: int) -> np.ndarray:
    """[K, d, d] of entries i <= j, or of diagonals."""
    S = np.zeros((len(cov), d, d))
    i, j = np.diag_indices(d) if cov.shape[1] == d else np.triu_indices(d)
    S[:, i, j] = S[:, j, i] = cov
    return S


def densities(owner, weight, mean, cov, X) -> np.ndarray:
    """p(x, c) [n, C]"""
    p = np.zeros((len(X), C))
    for c, w, m, S in zip(owner, weight, mean, cov, strict=True):
        p[:, c] += w * multivariate_normal(m, S).pdf(X)
    return p


@pytest.mark.parametrize("present", [0.9, 0.2])
@pytest.mark.parametrize("d", [2, 65])
def test_the_rule_is_lambda_now_plus_the_mean_of_the_snapshots(d, present):
    """65 features: covariances are diagonal."""
    how, of = begun(d, present=present)
    for t in range(1, 5):
        log = replayed(how, of, t)
    X, L, now = rows(9, d, 600).X.numpy(), how.axes, how.now
    L = np.diag(L) if d == 65 else L
    past = np.zeros((600, C))
    for s in how.past:
        cov = [L @ np.diag(v) @ L.T for v in s.var]
        past += densities(s.owner, s.weight, s.mean, cov, X) / 5
    alone = densities(now.owner, now.weight, now.mean, whole(now.cov, d), X)
    joint = present * alone + (1 - present) * past
    assert of.predict(torch.tensor(X)).tolist() == joint.argmax(1).tolist()
    p = of.classifier.probabilities(torch.tensor(X))
    np.testing.assert_allclose(p, joint / joint.sum(1, keepdims=True), rtol=1e-6)
    assert (joint.argmax(1) != alone.argmax(1)).any()
    assert [s.t for s in how.past] == [0, 1, 2, 3, 4]
    assert log["model_numbers"] == sum(part.size for part in now[1:])


@pytest.mark.parametrize("d", [2, 65])
def test_variances_of_snapshots_along_golds_axes(d):
    how, of = begun(d, components=1)
    X, y = (part.numpy() for part in (rows(0, d).X.double(), rows(0, d).y))
    within = X - np.stack([X[y == c].mean(0) for c in range(C)])[y]
    P, n = within.T @ within, len(X)
    P = P * np.eye(d) if d == 65 else P
    expected = (P + np.trace(P / n) / 2 * np.eye(d)) / (n + d / 2) + 1e-4 * np.eye(d)
    L = np.diag(how.axes) if d == 65 else how.axes
    np.testing.assert_allclose(L @ L.T, expected, atol=1e-6)
    replayed(how, of, 1)
    for S, v in zip(whole(how.now.cov, d), how.past[1].var, strict=True):
        np.testing.assert_allclose(np.diag(np.linalg.inv(L) @ S @ np.linalg.inv(L).T), v)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("tied", [False, True])
def test_a_labeler_may_bring_the_mixture(tied):
    """Four times gold's covariance: variances of 4 along its axes. With lambda 1 it is alone."""
    how, of = begun(present=1.0)
    S = 4 * how.axes @ how.axes.T
    mix = fit(rows(5), 1, 10**6)
    cov = np.tile([S[0, 0], S[0, 1], S[1, 1]], (1 if tied else C, 1))
    replayed(how, of, 1, rows(7), mix._replace(cov=cov))
    np.testing.assert_allclose(how.past[1].var, np.full((C, 2), 4.0))
    p = densities(mix.owner, mix.weight, mix.mean, [S] * C, rows(9, n=600).X.numpy())
    assert of.predict(rows(9, n=600).X).tolist() == p.argmax(1).tolist()


def test_snapshots_are_thinned_out_to_their_budget():
    """A snapshot is 3 (2 d + 2) + 1 = 19 numbers, and 120 hold six of them."""
    how, of = begun(rows=40, components=1)
    for t in range(1, 30):
        log = replayed(how, of, t)
        stride = 1 if t < 6 else 2 if t < 12 else 4 if t < 24 else 8
        assert [s.t for s in how.past] == list(range(0, t + 1, stride))
        assert log["memory_numbers"] == 19 * len(how.past) <= 40 * 3


def test_no_snapshots_where_there_is_no_room_for_one():
    how, of = begun(rows=0)
    alone, other = begun(present=1.0)
    for t in range(1, 4):
        assert replayed(how, of, t)["memory_numbers"] == 0
        replayed(alone, other, t)
    assert torch.equal(of.predict(rows(5).X), other.predict(rows(5).X))


@pytest.mark.filterwarnings("error")
def test_no_rows_and_rows_without_a_class():
    how, of = begun()
    before = how.now
    replayed(how, of, 1, Rows.empty(2))
    assert how.now is before
    replayed(how, of, 2, rows(0)[rows(0).y < 2])
    assert set(how.now.owner) == {0, 1}
    middle = rows(0).X[rows(0).y == 2].mean(0, keepdim=True)
    assert of.predict(middle).tolist() == [2]  # the snapshots remember it
