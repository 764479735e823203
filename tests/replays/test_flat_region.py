"""Flat-region replay: projectors, ascent, descent, and whole updates against a slow version."""

from dataclasses import replace

import numpy as np
import pytest
import support
import torch

from sdsl.algorithms.flat_search import ascend, space_of
from sdsl.core.contract import Pseudo, Step
from sdsl.core.kernel import buffers
from sdsl.core.learner import Learner
from sdsl.core.network import (
    arrays,
    backward,
    cross_entropy,
    cross_entropy_slope,
    forward,
    trace,
)
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.replays.flat_region import FlatRegion, carry, common_way

SEEDS, SIZES = (3, 4), (4, 7, 6, 3)
WEIGHTS = {"gold": 0.5, "lookback": 0.8, "segment": 1.2}
WHOLE = {"overlap": 0, "agreement": 0}  # powers of trust: gold weighs whole


def rows(n: int, name: str, counts=None) -> Rows:
    draws = Draws(SEEDS, name)
    y = (3 * draws.uniform(n)).long()
    return Rows(draws.normal(n, SIZES[0]), y, torch.tensor(counts or [n, n]))


@pytest.fixture
def learner() -> Learner:
    return Learner(SIZES, SEEDS)


@pytest.fixture
def now(learner) -> Step:
    """A step whose lookback is ragged."""
    gold, kept = rows(9, "gold"), rows(5, "kept", [5, 3])
    return Step(2, gold, kept, rows(11, "X").X, learner.copy(), Draws(SEEDS, "batches"))


def segment(now: Step) -> Pseudo:
    y = rows(11, "X").y
    return Pseudo(y, Rows.full(now.X, y))


def flat(**settings) -> FlatRegion:
    changes = {"steps": 3, "batch": 4, "eta1": 0.3, "eta2": 0.2, "momentum": 0.0}
    whole = {"trust": WHOLE, "held": WHOLE}
    return support.component("replay", "flat_region", **changes | whole | WEIGHTS | settings)


def batches(now: Step, how: FlatRegion) -> list:
    """Those that replay will draw, from generators of their own."""
    sets = [now.gold, now.lookback, segment(now).rows]
    return list(
        Batches(sets, list(WEIGHTS.values()), how.steps, how.batch, Draws(SEEDS, "batches"))
    )


def projectors(how: FlatRegion, now: Step, trust=None) -> list[torch.Tensor]:
    """P_M of every layer [S, in + 1, in + 1]."""
    bases, _ = how.subspace(now, trust)
    return [torch.stack([v.T @ v for v in layer]) for layer in zip(*bases, strict=True)]


def everything(theta) -> list[list[torch.Tensor]]:
    """The basis of an M that is the whole space."""
    return [[torch.eye(p.shape[1]) for p in theta] for _ in range(len(theta[0]))]


def loss_at(theta, batch) -> torch.Tensor:
    x, y, w = batch
    return cross_entropy(forward(x, theta)[1], y, w)


def ascended(how: FlatRegion, now: Step, learner: Learner, bases) -> list[torch.Tensor]:
    """theta + xi on the first batch: what one step without descent finds."""
    point, first = [], batches(now, how)[0]
    for s in range(2):
        theta = arrays(learner.theta, s)
        x, y, w = (part[s].numpy() for part in first)
        space = space_of(tuple(v.numpy() for v in bases[s]), theta)
        at = buffers(theta, len(y))
        at.h[0][:] = x
        ascend(theta, how.how, space, at, y, w)
        point.append([torch.from_numpy(p) for p in space.point])
    return [torch.stack(layer) for layer in zip(*point, strict=True)]


# The equations, one replica at a time


def slow_bases(now: Step, s: int, energy: float, cap: float) -> list[np.ndarray]:
    """M of every layer [in + 1, k]: left singular vectors of what the layer sees, bias included."""
    x = np.concatenate([r.replica(s)[0].double().numpy() for r in (now.gold, now.lookback)])
    bases = []
    for h in support.mlp(x, support.plain(now.theta, s))[0]:
        A = np.c_[h, np.ones(len(h))].T
        left, values, _ = np.linalg.svd(A)
        share = np.cumsum(values**2) / np.sum(values**2)
        k = min(int(np.sum(share < energy)) + 1, int(cap * len(A)))
        bases.append(left[:, :k])
    return bases


def slow_replay(now: Step, how: FlatRegion, theta: list[np.ndarray], s: int) -> list[np.ndarray]:
    """Algorithm 2 for one replica, gradients by finite differences."""
    M = slow_bases(now, s, how.energy, how.cap)
    velocity = [np.zeros_like(p) for p in theta]
    xi = [np.zeros_like(p) for p in theta]
    for batch in batches(now, how):
        x, y, w = (part[s].numpy() for part in batch)

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
        velocity = [how.momentum * v + g for v, g in zip(velocity, G, strict=True)]
        theta = [p - how.eta2 * v for p, v in zip(theta, velocity, strict=True)]
    return theta


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"momentum": 0.9},
        {"ascents": 2},
        {"no_xi": True},
        {"no_proj": True},
        {"no_xi": True, "no_proj": True},
        {"xi_norm": "sam", "rho": 0.5},
        {"energy": 0.6, "cap": 1.0},
        {"xi": "carried"},
    ],
    ids=str,
)
def test_a_whole_replay_against_the_slow_version(settings, now, learner):
    how = flat(**settings)
    before = [support.plain(learner.theta, s) for s in range(2)]
    how.replay(now, segment(now), learner)
    for s in range(2):
        slow = slow_replay(now, how, before[s], s)
        for mine, expected in zip(learner.theta, slow, strict=True):
            np.testing.assert_allclose(mine[s].detach(), expected, rtol=1e-3, atol=1e-4)


def test_a_carried_perturbation_grows_without_bound(now):
    """Algorithm 2 as printed: the loss that replay ends at rises with every step it takes."""
    rise = []
    for steps in (5, 10, 20):
        how = flat(steps=steps, xi="carried", eta1=0.1)
        rise.append(how.replay(now, segment(now), Learner(SIZES, SEEDS))["loss_rise"].min())
    assert 0 < rise[0] < rise[1] < rise[2]
    fresh = flat(steps=20, eta1=0.1).replay(now, segment(now), Learner(SIZES, SEEDS))
    assert fresh["loss_rise"].max() < rise[0]


def test_every_switch_changes_where_replay_ends(now):
    """So the comparison above tells them apart."""
    ends = []
    for settings in (
        {},
        {"no_xi": True},
        {"no_proj": True},
        {"xi": "carried"},
        {"xi_norm": "sam", "rho": 0.5},
    ):
        learner = Learner(SIZES, SEEDS)
        flat(**settings).replay(now, segment(now), learner)
        ends.append(learner.theta[0].detach())
    gaps = [(a - b).abs().max() for i, a in enumerate(ends) for b in ends[:i]]
    assert min(gaps) > 1e-3


@pytest.mark.parametrize("plain", [False, True], ids=["flat region", "retrain"])
def test_gold_weighs_as_far_as_the_lookback_agrees(plain, now):
    """Classes that changed places: gold pulls as if it weighed nothing."""

    def end(**settings) -> list[torch.Tensor]:
        learner = Learner(SIZES, SEEDS)
        short = {"steps": 3, "batch": 4}
        retrain = support.component("replay", "retrain", fit=short, **settings)
        how = retrain if plain else flat(**settings)
        y = (torch.arange(18) % 3).expand(2, 18)
        X = Draws(SEEDS, "apart").normal(18, 4) + 9 * torch.eye(4)[y]
        sets = {"gold": Rows.full(X, y), "lookback": Rows.full(X, (y + 1) % 3)}
        step = replace(now, draws=Draws(SEEDS, "batches"), **sets)
        how.replay(step, segment(step), learner)
        return learner.copy()

    distrusted, unweighed, whole = end(trust={"overlap": 6, "agreement": 3}), end(gold=1e-30), end()
    for a, b, c in zip(distrusted, unweighed, whole, strict=True):
        torch.testing.assert_close(a, b)
        assert not torch.allclose(a, c)


# What drift has made untrue


def test_where_neither_gold_nor_lookback_holds_replay_is_plain_descent(now):
    """New labels at the old places, each another class: only they count, and M holds nothing."""

    def end(**settings) -> list[torch.Tensor]:
        learner = Learner(SIZES, SEEDS)
        y = (torch.arange(18) % 3).expand(2, 18)
        X = Draws(SEEDS, "apart").normal(18, 4) + 9 * torch.eye(4)[y]
        gold, kept, new = (Rows.full(X, (y + k) % 3) for k in range(3))
        step = replace(now, gold=gold, lookback=kept, X=X, draws=Draws(SEEDS, "batches"))
        flat(**settings).replay(step, Pseudo(new.y, new), learner)
        return learner.copy()

    let_go = end(trust={"overlap": 6, "agreement": 3}, held={"overlap": 1, "agreement": 3})
    plain = end(no_xi=True, no_proj=True, gold=0.0, lookback=0.0)
    for a, b, c in zip(let_go, plain, end(), strict=True):
        torch.testing.assert_close(a, b)
        assert not torch.allclose(a, c)


def test_M_is_held_as_far_as_what_spans_it_is_trusted(now):
    how, none = flat(), torch.zeros(2)
    alone = replace(now, lookback=Rows.empty_like(now.X))
    half = projectors(how, now, (torch.full((2,), 0.5), none))  # gold alone, and half of it
    whole = projectors(how, now, (torch.ones(2), torch.ones(2)))
    for p, gold in zip(half, projectors(how, alone), strict=True):
        torch.testing.assert_close(p, 0.5 * gold)
    for p, both in zip(whole, projectors(how, now), strict=True):
        torch.testing.assert_close(p, both)
    assert not any(p.any() for p in projectors(how, now, (none, none)))


def test_the_common_way_is_the_mean_over_classes_that_both_have():
    """Whatever the shares: class 0 goes by 1, class 1 by 3, class 2 is new; padding has no say."""
    places, count = torch.tensor([[[0.0], [2], [10], [99]]]), torch.tensor([3])
    old = Rows(places, torch.tensor([[0, 0, 1, 1]]), count)
    new = Rows.full(torch.tensor([[[2.0], [12], [14], [70]]]), torch.tensor([[0, 1, 1, 2]]))
    assert common_way(old, new, 3).tolist() == [[[2.0]]]
    other = Rows.full(torch.ones(1, 4, 1), torch.full((1, 4), 2))
    assert common_way(old, other, 3).tolist() == [[[0.0]]]  # no class in both


def test_a_network_that_is_carried_says_there_what_it_said_here(learner, now):
    way, before = torch.tensor([5.0, -3, 0, 90]).expand(2, 1, 4), learner.probabilities(now.X)
    carry(learner.theta, way)
    torch.testing.assert_close(learner.probabilities(now.X + way), before, atol=1e-4, rtol=1e-3)


@pytest.mark.parametrize("travels", [True, False])
def test_it_is_carried_along_as_far_as_neither_gold_nor_lookback_holds(now, travels):
    """All rows gone far: nothing holds. All in their places: all holds, and it stays."""
    y = (torch.arange(18) % 3).expand(2, 18)
    X = 9 * torch.eye(4)[y] + Draws(SEEDS, "apart").normal(18, 4)
    gold, way = Rows.full(X, y), torch.tensor([50.0 * travels, 0, 0, 0])
    step = replace(now, gold=gold, lookback=gold, X=X + way)
    learner = Learner(SIZES, SEEDS)
    said = learner.probabilities(X)
    new = Pseudo(y, Rows.full(X + way, y))
    flat(steps=0, held={"overlap": 1, "agreement": 3}).replay(step, new, learner)
    torch.testing.assert_close(learner.probabilities(X + way), said, atol=1e-4, rtol=1e-3)
    if not travels:
        assert all(map(torch.equal, learner.theta, step.theta))


def test_what_is_let_go_of_is_held_where_inputs_are_large(now):
    """Rows of 100 times the length: nearly whole again, though trusted by a tenth only."""
    tenth, none = torch.full((2,), 0.1), torch.zeros(2)
    far = replace(now, gold=Rows.full(100 * now.gold.X, now.gold.y))
    small, large = (projectors(flat(cap=1.0), n, (tenth, none))[0] for n in (now, far))
    assert torch.linalg.eigvalsh(small).amax() == pytest.approx(0.1, abs=1e-4)
    assert torch.linalg.eigvalsh(large).amax() > 0.99


# The subspace


@pytest.mark.parametrize("energy", [0.0, 0.6, 0.95, 1.0])
@pytest.mark.parametrize("cap", [0.5, 1.0])
def test_rank_is_the_fewest_directions_that_carry_the_energy(energy, cap, now):
    how = flat(energy=energy, cap=cap)
    P, rank = projectors(how, now), how.subspace(now)[1]
    for s in range(2):
        for layer, M in enumerate(slow_bases(now, s, energy, cap)):
            if energy < 1:
                assert rank[layer][s] == M.shape[1]
            assert rank[layer][s] <= int(cap * M.shape[0])
            np.testing.assert_allclose(P[layer][s] @ P[layer][s], P[layer][s], atol=1e-5)
            if rank[layer][s] == M.shape[1]:
                np.testing.assert_allclose(P[layer][s], M @ M.T, atol=1e-4)


def test_the_cap_leaves_room_in_a_narrow_layer():
    """Two features and a bias: full energy would take all three, the cap leaves two free."""
    learner = Learner((2, 5, 2), SEEDS)
    X = Draws(SEEDS, "x").normal(30, 2)
    gold = Rows.full(X, (X[:, :, 0] > 0).long())
    now = Step(1, gold, Rows.empty_like(X), X, learner.copy(), Draws(SEEDS, "b"))
    _, rank = flat(energy=0.999).subspace(now)
    assert rank[0].tolist() == [1, 1]
    _, rank = flat(energy=0.999, cap=1.0).subspace(now)
    assert rank[0].tolist() == [3, 3]


def test_gold_rows_beyond_the_limit_are_not_looked_at(now):
    few = Step(
        2,
        Rows(now.gold.X[:, :4], now.gold.y[:, :4], torch.tensor([4, 4])),
        *(now.lookback, now.X, now.theta, now.draws),
    )
    for a, b in zip(projectors(flat(rows=4), now), projectors(flat(), few), strict=True):
        torch.testing.assert_close(a, b)


def test_padding_of_the_lookback_is_not_looked_at(now):
    now.lookback.X[1, 3:] = 1e3
    P = projectors(flat(), now)
    for layer, M in enumerate(slow_bases(now, 1, 0.95, 0.5)):
        np.testing.assert_allclose(P[layer][1], M @ M.T, atol=1e-4)


def test_what_is_left_of_a_gradient_lies_off_M(now, learner):
    """||M^T G|| < 1e-6 ||G|| after projection."""
    how = flat()
    P, (x, y, w) = projectors(how, now), batches(now, how)[0]
    inputs, logits = trace(x, learner.theta)
    G = backward(inputs, cross_entropy_slope(logits, y, w), learner.theta)
    for g, p in zip(G, P, strict=True):
        left = g - p @ g
        assert ((p @ left).norm(dim=(1, 2)) < 1e-6 * g.norm(dim=(1, 2))).all()
        assert (left.norm(dim=(1, 2)) > 1e-3 * g.norm(dim=(1, 2))).all()


@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_parameters_never_move_within_M(momentum, now, learner):
    """What the previous model made of gold and lookback is kept, as far as M spans it."""
    how = flat(momentum=momentum, steps=20)
    how.replay(now, segment(now), learner)
    for p, old, P in zip(learner.theta, now.theta, projectors(how, now), strict=True):
        moved = p.detach() - old
        assert moved.norm() > 0.1
        assert (P @ moved).norm() < 1e-5 * moved.norm()


def test_a_layer_whose_M_is_everything_does_not_move(now, learner, monkeypatch):
    how, before = flat(eta1=0.0), learner.copy()
    monkeypatch.setattr(how, "subspace", lambda *_: (everything(learner.theta), []))
    how.replay(now, segment(now), learner)
    assert all(torch.equal(p, q) for p, q in zip(learner.theta, before, strict=True))


# The ascent


@pytest.mark.parametrize("whole", [True, False])
def test_the_loss_rises_under_xi(whole, now, learner):
    how = flat(eta1=0.05)
    bases = everything(learner.theta) if whole else how.subspace(now)[0]
    point, batch = ascended(how, now, learner, bases), batches(now, how)[0]
    assert (loss_at(point, batch) > loss_at(learner.theta, batch) + 1e-5).all()
    for layer, p in enumerate(learner.theta):
        for s in range(2):
            e, v = point[layer][s] - p[s].detach(), bases[s][layer]
            torch.testing.assert_close(v.T @ v @ e, e, rtol=1e-4, atol=1e-6)


def test_the_rise_is_logged(now, learner):
    log = flat(eta2=0.0, eta1=0.05).replay(now, segment(now), learner)
    assert (log["loss_rise"] > 0).all()
    assert flat(no_xi=True).replay(now, segment(now), learner)["loss_rise"].tolist() == [0, 0]
    assert {"loss_replay", "rank_0", "rank_1", "rank_2"} <= log.keys()


def test_sam_gives_xi_a_length(now, learner):
    how = flat(xi_norm="sam", rho=0.05)
    point = ascended(how, now, learner, how.subspace(now)[0])
    xi = [p - q.detach() for p, q in zip(point, learner.theta, strict=True)]
    length = sum(e.square().sum((1, 2)) for e in xi).sqrt()
    torch.testing.assert_close(length, torch.tensor([0.05, 0.05]))


# Where it starts


@pytest.mark.parametrize("origin", ["previous", "generation"])
def test_origin(origin, now, learner):
    with torch.no_grad():
        for p in learner.theta:
            p += 1
    moved = learner.copy()
    flat(origin=origin, steps=0).replay(now, segment(now), learner)
    for p, a, b in zip(learner.theta, now.theta, moved, strict=True):
        assert torch.equal(p, a if origin == "previous" else b)
