"""Mixtures: densities and EM against slow NumPy, posteriors that are fixed, awkward rows."""

from dataclasses import fields, replace

import numpy as np
import pytest
import torch

from sdsl.algorithms import mixture
from sdsl.algorithms.gold_mixture import gold_mixture, parts_of
from sdsl.algorithms.mixture import (
    LEAST,
    Mixture,
    Priors,
    by_class,
    fit,
    log_joint,
    responsibilities,
    ridge,
)

FORMS = ["full", "tied", "diagonal"]


def made(form="full", M=2, K=3, d=3, seed=0) -> Mixture:
    g = torch.Generator().manual_seed(seed)
    A = torch.randn(M, K, d, d, generator=g, dtype=torch.float64)
    cov = A @ A.mT + torch.eye(d)
    cov = {"full": cov, "tied": cov[:, :1], "diagonal": cov.diagonal(dim1=2, dim2=3)}[form]
    weight = torch.rand(M, K, generator=g, dtype=torch.float64) + 0.1
    mean = 2 * torch.randn(M, K, d, generator=g, dtype=torch.float64)
    owner = torch.tensor([0, 0, 1]).expand(M, K)
    return Mixture(mean, cov.clone(), weight / weight.sum(1, True), cov[:, 0].clone(), owner)


def rows(n=40, d=3, seed=1) -> torch.Tensor:
    g = torch.Generator().manual_seed(seed)
    return 2 * torch.randn(n, d, generator=g, dtype=torch.float64)


def covariances(mix: Mixture, m: int) -> np.ndarray:
    cov = mix.cov[m].numpy()
    return np.stack([np.diag(v) for v in cov]) if mix.form == "diagonal" else cov


def slow_log_joint(mix: Mixture, X: np.ndarray, m: int) -> np.ndarray:
    out = np.zeros((len(X), mix.mean.shape[1]))
    for k in range(mix.mean.shape[1]):
        S = covariances(mix, m)
        S = S[k if len(S) > 1 else 0]
        gap = X - mix.mean[m, k].numpy()
        far = np.einsum("nd,de,ne->n", gap, np.linalg.inv(S), gap)
        flat = np.log(float(mix.weight[m, k])) - 0.5 * np.linalg.slogdet(2 * np.pi * S)[1]
        out[:, k] = flat - 0.5 * far
    return out


@pytest.mark.parametrize("form", FORMS)
def test_densities_agree_with_numpy(form):
    mix, X = made(form), rows()
    assert mix.form == form
    for m in range(2):
        slow = slow_log_joint(mix, X.numpy(), m)
        assert np.allclose(log_joint(mix, X)[m].numpy(), slow)
        c = by_class(log_joint(mix, X), mix.owner, 3)[m].numpy()
        assert np.allclose(c[:, 0], np.logaddexp(slow[:, 0], slow[:, 1]))
        assert np.allclose(c[:, 1], slow[:, 2])
        assert np.isneginf(c[:, 2]).all()


@pytest.mark.parametrize("form", FORMS)
def test_a_round_of_em_agrees_with_numpy(form):
    mix, X = made(form), rows()
    found = fit(mix, X, Priors(mean=2.0, share=3.0, memory=0.7, floor=1e-3), 1, None)
    x, (n, d) = X.numpy(), X.shape
    for m in range(2):
        joint = slow_log_joint(mix, x, m)
        r = np.exp(joint - joint.max(1, keepdims=True))
        r /= r.sum(1, keepdims=True)
        count, w0 = r.sum(0), mix.weight[m].numpy()
        mean = (r.T @ x + 2 * mix.mean[m].numpy()) / (count + 2)[:, None]
        A = np.stack([((x - mu) * r[:, [k]]).T @ (x - mu) for k, mu in enumerate(mean)])
        old = mix.pooled[m].numpy()
        A = np.einsum("kdd->kd", A) if form == "diagonal" else A
        P = (0.7 * n * old + A.sum(0)) / (1.7 * n)
        P = ridge(torch.tensor(P), 1.7 * n, 1e-3, form == "diagonal").numpy()
        weight = (count + 3 * n * w0) / (4 * n) + LEAST
        assert np.allclose(found.mean[m], mean)
        assert np.allclose(found.pooled[m], P)
        assert np.allclose(found.weight[m], weight / weight.sum())
        for k in range(3):
            kept = 0.7 * n * w0[k]
            S = kept * mix.cov[m][min(k, len(mix.cov[m]) - 1)].numpy() + A[k] + d * P
            S = P if form == "tied" else S / (kept + count[k] + d)
            assert np.allclose(found.cov[m][0 if form == "tied" else k], S)


@pytest.mark.parametrize("form", FORMS)
def test_many_features_agree_with_numpy(form):
    mix, X = made(form, d=20), rows(200, 20)
    for m in range(2):
        assert np.allclose(log_joint(mix, X)[m].numpy(), slow_log_joint(mix, X.numpy(), m))
    found = fit(mix, X, Priors(1.0, 2.0, 1.0, 1e-3), 1, None)
    for m in range(2):
        joint = slow_log_joint(mix, X.numpy(), m)
        r = np.exp(joint - joint.max(1, keepdims=True))
        r /= r.sum(1, keepdims=True)
        mean = (r.T @ X.numpy() + mix.mean[m].numpy()) / (r.sum(0) + 1)[:, None]
        gaps = [X.numpy() - mu for mu in mean]
        A = sum((gap * r[:, [k]]).T @ gap for k, gap in enumerate(gaps))
        A = np.diag(A) if form == "diagonal" else A
        P = torch.tensor((200 * mix.pooled[m].numpy() + A) / 400)
        assert np.allclose(found.mean[m], mean)
        assert np.allclose(found.pooled[m], ridge(P, 400, 1e-3, form == "diagonal"))


def test_em_ends_where_nothing_moves_any_more(monkeypatch):
    rounds, plain = [], mixture.update
    monkeypatch.setattr(mixture, "update", lambda *a: rounds.append(1) or plain(*a))
    mix, g = made(), torch.Generator().manual_seed(0)
    mix = replace(mix, mean=20 * mix.mean)  # far apart: the second round changes nothing
    L = torch.linalg.cholesky(mix.cov[0])
    noise = torch.randn(3, 100, 3, generator=g, dtype=torch.float64)
    X = (mix.mean[0][:, None] + noise @ L.mT).flatten(0, 1)
    one = Mixture(*(getattr(mix, f.name)[:1] for f in fields(Mixture)))
    early = fit(one, X, Priors(1.0, 2.0, 1.0, 1e-3), 50, None)
    assert 1 < len(rounds) < 10
    monkeypatch.setattr(mixture, "SETTLED", 0.0)
    late = fit(one, X, Priors(1.0, 2.0, 1.0, 1e-3), 50, None)
    assert torch.allclose(early.mean, late.mean, atol=0.05)


def test_shares_of_each_mixture_last_as_long_as_its_own_prior_says():
    mix, X = made(), rows()
    share = torch.tensor([0.0, 1e6]).double()
    found = fit(mix, X, Priors(1.0, share, 1.0, 1e-3), 1, None)
    r = responsibilities(log_joint(mix, X), mix.owner, None)
    assert torch.allclose(found.weight[0], r[0].mean(0), atol=1e-3)  # what the rows say
    assert torch.allclose(found.weight[1], mix.weight[1], atol=1e-3)  # what they were


def test_ridge_by_hand():
    P = torch.diag(torch.tensor([1.0, 3.0], dtype=torch.float64))
    expected = (9 * P + 1 * 2 * torch.eye(2)) / 10 + 0.5 * torch.eye(2)  # N = 9, d / 2 = 1
    assert torch.allclose(ridge(P, 9, 0.5, False), expected)
    assert torch.allclose(ridge(P.diagonal(), 9, 0.5, True), expected.diagonal())


def test_fixed_posteriors_stay_even_where_a_class_is_far():
    mix, X = made(), rows() + 1e4
    q = torch.full((len(X), 2), 0.5, dtype=torch.float64)
    r = responsibilities(log_joint(mix, X), mix.owner, q)
    assert torch.allclose(r[:, :, :2].sum(2), q[:, 0].expand(2, -1))
    assert torch.allclose(r[:, :, 2], q[:, 1].expand(2, -1))


@pytest.mark.parametrize("form", FORMS)
def test_gold_finds_the_modes_of_a_class(form):
    g = torch.Generator().manual_seed(0)
    place = torch.tensor([[-4.0, 0], [4, 0], [0, 0]]).double()
    X = torch.cat([p + torch.randn(100, 2, generator=g, dtype=torch.float64) for p in place])
    y = torch.tensor([0] * 200 + [1] * 100)
    mix = gold_mixture(X, y, [2, 1], 5, form, 1e-4, g)
    assert sorted(mix.mean[0, :2, 0].round().tolist()) == [-4, 4]
    assert torch.equal(mix.weight[0, 3:], torch.zeros(2).double())  # padding
    labels = by_class(log_joint(mix, X), mix.owner, 2)[0].argmax(1)
    assert (labels == y).double().mean() > 0.93


def test_components_by_the_rows_of_a_class():
    y = torch.tensor([0] * 100 + [1] * 21 + [2])
    assert parts_of(y, 4, d=2, classes=3) == [4, 2, 1]


def test_with_many_features_a_component_needs_rows_for_its_mean_alone():
    y = torch.tensor([0] * 80 + [1] * 59 + [2] * 19)
    assert parts_of(y, 4, d=64, classes=3) == [1, 1, 1]  # full covariances: 320 rows each
    assert parts_of(y, 4, d=65, classes=3) == [4, 2, 1]  # diagonal ones: 20


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("kind", ["one row", "constant feature", "a million", "far away", "equal"])
def test_finite_under_awkward_rows(form, kind):
    X = rows()
    X = {
        "one row": X[:1],
        "constant feature": X * torch.tensor([1.0, 1, 0]),
        "a million": 1e6 * X,
        "far away": X + 1e6,
        "equal": X[:1].expand(40, -1),
    }[kind]
    found = fit(made(form), X, Priors(1.0, 2.0, 1.0, 1e-4), 10, None)
    for name in ("mean", "cov", "weight", "pooled"):
        assert getattr(found, name).isfinite().all(), name
    assert log_joint(found, X).isfinite().all()
