"""Algorithm 2 against a slow NumPy version in float64; the subspace M, xi, weights and starts."""

from dataclasses import replace

import numpy as np
import pytest
import support
import torch
import torch.nn.functional as F
from made_steps import learner, step

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.draws import Batches, Draws
from sdsl.core.network import graph
from sdsl.core.rows import Rows
from sdsl.replays.flat_region import eigh, span

SIZES = (4, 7, 6, 3)


def rows(n: int, name: str) -> Rows:
    draws = Draws(3, name)
    y = (3 * draws.uniform(n)).long()
    return Rows(draws.normal(n, SIZES[0]), y)


@pytest.fixture
def of():
    return learner(*SIZES)


@pytest.fixture
def now(of):
    return step(rows(9, "gold"), rows(5, "kept"), rows(11, "X").X, theta=of.copy())


@pytest.fixture
def pseudo():
    return Pseudo(rows(11, "X").y, rows(11, "X"))


FIT = {"until": "steps", "steps": 3, "batch": 4, "lr": 0.2, "momentum": 0.0}


def flat(fit=None, **settings):
    changes = {"fit": FIT | (fit or {}), "eta1": 0.3, "rows": 100}
    return component("replay", "flat_region", **changes | settings)


def batches(now, how) -> list:
    """Those that replay will draw, from a generator of their own."""
    sets, weights = how.fit.gathered([now.gold, rows(11, "X")])
    return list(Batches(sets, weights, how.fit.steps, how.fit.batch, Draws(3, "batches")))


def slow_bases(now, energy: float, cap: float) -> list[np.ndarray]:
    """M of every layer [in + 1, k]: left singular vectors of what the layer sees, bias included."""
    x = torch.cat([now.gold.X, now.lookback.X]).double().numpy()
    bases = []
    for h in support.mlp(x, support.plain(now.theta))[0]:
        A = np.c_[h, np.ones(len(h))].T
        left, values, _ = np.linalg.svd(A)
        share = np.cumsum(values**2) / np.sum(values**2)
        k = min(int(np.sum(share < energy)) + 1, int(cap * len(A)))
        bases.append(left[:, :k])
    return bases


def slow_replay(now, how, theta: list[np.ndarray]) -> list[np.ndarray]:
    """Algorithm 2, gradients by central differences."""
    M = slow_bases(now, how.energy, how.cap)
    velocity = [np.zeros_like(p) for p in theta]
    xi = [np.zeros_like(p) for p in theta]
    for batch in batches(now, how):
        x, y, w = (part.numpy() for part in batch)

        def loss(at, x=x, y=y, w=w):
            return w @ support.row_losses(x, y, at)

        if how.xi == "fresh":
            xi = [np.zeros_like(p) for p in theta]
        for _ in range(0 if how.no_xi else how.ascents):
            G = support.numeric_gradient(loss, [p + e for p, e in zip(theta, xi, strict=True)])
            if not how.no_proj:
                G = [m @ m.T @ g for m, g in zip(M, G, strict=True)]
            xi = [e + how.eta1 * g for e, g in zip(xi, G, strict=True)]
        if how.xi_norm == "sam":
            length = np.sqrt(sum(np.sum(e**2) for e in xi))
            xi = [how.rho * e / length for e in xi]
        G = support.numeric_gradient(loss, [p + e for p, e in zip(theta, xi, strict=True)])
        if not how.no_proj:
            G = [g - m @ m.T @ g for m, g in zip(M, G, strict=True)]
        velocity = [how.fit.momentum * v + g for v, g in zip(velocity, G, strict=True)]
        theta = [p - how.fit.lr * v for p, v in zip(theta, velocity, strict=True)]
    return theta


@pytest.mark.parametrize("settings", [
    {}, {"fit": {"momentum": 0.9}}, {"fit": {"union": False}}, {"ascents": 2}, {"no_xi": True},
    {"no_proj": True}, {"no_xi": True, "no_proj": True}, {"xi_norm": "sam", "rho": 0.5},
    {"energy": 0.6, "cap": 1.0}, {"xi": "carried"}, {"xi": "carried", "xi_norm": "sam", "rho": 0.5},
], ids=str)  # fmt: skip
def test_a_whole_replay_against_the_slow_version(settings, now, of, pseudo):
    how, before = flat(**settings), support.plain(of.theta)
    log = how.replay(now, pseudo, of)
    for mine, expected in zip(of.theta, slow_replay(now, how, before), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-3, atol=1e-4)
    assert {"loss_replay", "rank_0", "rank_1", "rank_2"} <= log.keys()
    assert (log["loss_rise"] == 0) == how.no_xi


def test_retrain_is_descent_on_the_union_of_the_chosen_sets(now, of, pseudo):
    """Against autograd: full batches of gold and the new rows, from the last parameters."""
    fit = {"until": "steps", "steps": 3, "batch": 0, "lr": 0.1, "momentum": 0.0}
    how = component("replay", "retrain", fit=fit, origin="previous", sets=["gold", "segment"])
    theta = [p.clone().requires_grad_() for p in now.theta]
    for _ in range(3):
        union = Rows.cat(now.gold, pseudo.rows)
        loss = F.cross_entropy(graph(union.X, theta), union.y)
        for p, g in zip(theta, torch.autograd.grad(loss, theta), strict=True):
            p.data -= 0.1 * g
    of.theta[0] += 1  # the labeler has trained it
    how.replay(now, pseudo, of)
    torch.testing.assert_close(of.theta, [p.detach() for p in theta])


@pytest.mark.parametrize("origin", ["previous", "generation"])
def test_origin(origin, now, of, pseudo):
    for p in of.theta:
        p += 1
    moved = of.copy()
    flat({"steps": 0}, origin=origin).replay(now, pseudo, of)
    assert all(map(torch.equal, of.theta, now.theta if origin == "previous" else moved))


# The subspace


@pytest.mark.parametrize("energy", [0.0, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("cap", [0.5, 1.0])
def test_M_has_the_fewest_directions_that_carry_the_energy(energy, cap, now):
    for V, M in zip(
        flat(energy=energy, cap=cap).subspace(now), slow_bases(now, energy, cap), strict=True
    ):
        np.testing.assert_allclose(V @ V.T, np.eye(len(V)), atol=1e-5)
        assert len(V) <= int(cap * len(M))
        if energy < 1:
            assert len(V) == M.shape[1]
            np.testing.assert_allclose(V.T @ V, M @ M.T, atol=1e-4)


def test_the_cap_leaves_room_in_a_narrow_layer():
    """Two features and a bias: full energy would take all three, the cap leaves two free."""
    X = Draws(3, "x").normal(30, 2)
    given = step(Rows.unlabelled(X), Rows.empty(2), X, theta=learner(2, 5, 2).theta)
    assert len(flat(energy=0.999).subspace(given)[0]) == 1
    assert len(flat(energy=0.999, cap=1.0).subspace(given)[0]) == 3


def test_M_is_of_the_lookback_with_so_many_gold_rows_and_of_gold_where_nothing_is_kept(now):
    few = replace(now, gold=now.gold[:4])
    torch.testing.assert_close(flat(rows=4).subspace(now), flat().subspace(few))
    alone = replace(now, gold=now.lookback, lookback=Rows.empty(SIZES[0]))
    torch.testing.assert_close(flat(rows=0).subspace(now), flat(rows=0).subspace(alone))


@pytest.mark.parametrize("tolerance, steps", [(1e-9, 5), (0.0, 20)])
def test_replay_ends_where_the_loss_settles(tolerance, steps, now, of, pseudo):
    """It stays the same without a learning rate: one block, unless nothing need fall."""
    still = {"until": "settled", "steps": 20, "block": 5, "tolerance": tolerance, "lr": 0.0}
    assert flat(still).replay(now, pseudo, of)["steps_replay"] == steps


def test_rows_that_are_all_zero_span_nothing_harmful():
    V = span(torch.zeros(4, 4), 0.95, 0.5)
    assert V.isfinite().all() and V.shape == (2, 4)


@pytest.mark.parametrize("fails", ["nan", "error"])
def test_where_single_precision_fails_double_is_used(fails, monkeypatch):
    """MKL gives NaN for some sound matrices."""
    A = torch.randn(20, 6, generator=torch.Generator().manual_seed(0))
    gram, plain = A.T @ A, torch.linalg.eigh

    def failing(g):
        if g.dtype == torch.float32 and fails == "error":
            raise torch.linalg.LinAlgError("did not converge")
        values, vectors = plain(g)
        return values * (torch.nan if g.dtype == torch.float32 else 1), vectors

    monkeypatch.setattr(torch.linalg, "eigh", failing)
    values, vectors = eigh(gram)
    torch.testing.assert_close(vectors @ values.diag() @ vectors.T, gram)
