"""EAML: the trajectory, the head's gradient, the empty penalty, and no pseudo-label anywhere."""

from itertools import pairwise

import numpy as np
import pytest
import torch
from support import blobs, component, run

from sdsl.algorithms.meta_descent import head_gradient
from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.network import affine, graph
from sdsl.core.replica import Draws, Rows
from sdsl.replays.meta import DOMAINS, decayed, trajectory

SEEDS = (3, 4)


def step(seeds=SEEDS, stored=(20, 20), gold=(30, 30), labels=0) -> Step:
    """Made-up rows; `labels` is written wherever a pseudo-label could be read."""
    X = Draws(seeds, "rows").normal(60, 2)
    D = Rows(X[:, :30] - 1, (X[:, :30, 0] > 0).long(), torch.tensor(gold))
    memory = Rows(X[:, :20] + 1, torch.full((len(seeds), 20), labels), torch.tensor(stored))
    return Step(2, D, memory, X + 1, [], Draws(seeds, "batches"))


def adapt(step: Step, labels=0, seeds=SEEDS, **settings) -> Learner:
    learner = Learner((2, 8, 6, 2), seeds)
    rows = Rows.full(step.X, torch.full(step.X.shape[:2], labels))
    how = component("replay", "meta", **{"iterations": 4, "adapt_steps": 4, "batch": 8} | settings)
    log = how.replay(step, Pseudo(None, rows), learner)
    assert all(torch.isfinite(value).all() for value in log.values())
    return learner


def same(a: Learner, b: Learner) -> bool:
    return all(torch.equal(p, q) for p, q in zip(a.theta, b.theta, strict=True))


def test_trajectory_is_stored_rows_in_two_parts_then_the_segment_in_three():
    given = step(stored=(20, 5))
    rows, first, count = trajectory(given)
    assert count.tolist() == [[10, 10, 20, 20, 20], [2, 3, 20, 20, 20]]
    for s in range(2):
        parts = [rows[s, i : i + n] for i, n in zip(first[s], count[s], strict=True)]
        assert torch.equal(torch.cat(parts[:2]), given.lookback.replica(s)[0])
        segment = torch.cat(parts[2:])
        assert torch.equal(segment.sort(0).values, given.X[s].sort(0).values)


def mmd(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """MMD^2 by its definition, to be differentiated: x [n, C], y [m, C]."""
    n, m = len(x), len(y)
    if min(n, m) < 2:
        return x.new_zeros(())
    z = torch.cat([x, y])
    d = (z[:, None] - z[None]).square().sum(2)
    b = d.detach().sum() / (len(z) * (len(z) - 1))
    k = sum(torch.exp(-d / (b * 2.0**q)) for q in (-2, -1, 0, 1, 2)).fill_diagonal_(0)
    within = k[:n, :n].sum() / (n * (n - 1)) + k[n:, n:].sum() / (m * (m - 1))
    return within - 2 * k[:n, n:].mean()


def head_loss(g, source, y, target, weight: float) -> torch.Tensor:
    """CE(D) + weight MMD(D, P) of the head [m + 1, C] on features [n, m], [k, m]."""
    z, other = (affine(phi[None], g[None])[0] for phi in (source, target))
    return torch.nn.functional.cross_entropy(z, y) + weight * mmd(z, other)


@pytest.mark.parametrize("n, m", [(8, 8), (5, 6), (6, 1), (6, 0)])
def test_head_gradient_is_that_of_cross_entropy_plus_mmd(n, m):
    gen = torch.Generator().manual_seed(n)
    phi, g = (torch.randn(*s, generator=gen) for s in ((n + m, 5), (6, 3)))
    y, found = torch.arange(n) % 3, torch.empty(6, 3)
    head_gradient(g.numpy(), phi.numpy(), y.numpy(), 0.5, found.numpy())
    free = g.double().requires_grad_()
    loss = head_loss(free, phi[:n].double(), y, phi[n:].double(), 0.5)
    (want,) = torch.autograd.grad(loss, free)
    torch.testing.assert_close(found, want.float(), rtol=1e-4, atol=1e-6)


def around(X: torch.Tensor, start: int, n: int) -> torch.Tensor:
    """n rows from `start` on, standing in a circle."""
    return X[(torch.arange(n) + start) % len(X)] if n else X[:0]


def by_autograd(step: Step, theta: list, s: int, how) -> list:
    """Replica s after meta-training and adaptation, written from the docstring, in float64."""
    rows, first, count = trajectory(step)
    X, y = (
        part[:n] for n in [step.gold.count[s]] for part in (step.gold.X[s].double(), step.gold.y[s])
    )
    n = len(X)
    held = min(n if n < 4 else n // 2, how.batch)
    P = [rows[s, a : a + k].double() for a, k in zip(first[s], count[s], strict=True)]
    size = [min(len(p) // 2, how.batch) for p in P]
    u = step.draws.uniform(3, how.iterations, DOMAINS)[s]
    before = [p[s].double() for p in theta]
    f, m = before[:-1], [torch.zeros_like(p) for p in before]

    def encoded(x, f):
        for layer in f:
            x = affine(x[None], layer[None]).relu()[0]
        return x

    def stepped(p, grad, m, q, lr):
        m.mul_(how.momentum).add_(grad + how.decay * p + 2 * how.anchor * (p - q))
        return (p - lr * m).detach()

    for k in range(how.iterations):
        g = before[-1]
        turn = int(u[0, k, 0] * n)
        start = [int(u[2, k, j] * len(p)) for j, p in enumerate(P)]
        for j, p in enumerate(P):
            a = turn + held + int(u[1, k, j] * max(n - 2 * held + 1, 1))
            source, target = around(X, a, held), around(p, start[j], size[j])
            for _ in range(how.inner_steps):
                g = g.detach().requires_grad_()
                part = encoded(source, f), around(y, a, held), encoded(target, f)
                (grad,) = torch.autograd.grad(head_loss(g, *part, how.inner_mmd), g)
                g = g - how.inner_lr * grad
        f = [p.requires_grad_() for p in f]
        net = [p[None] for p in (*f, g.detach())]
        z = graph(around(X, turn, held)[None], net)[0]
        loss = torch.nn.functional.cross_entropy(z, around(y, turn, held))
        for j, p in enumerate(P):
            query = graph(around(p, start[j] + size[j], size[j])[None], net)[0]
            loss = loss + how.outer_mmd * mmd(z, query) / sum(b > 1 for b in size)
        grads, lr = torch.autograd.grad(loss, f), how.outer_lr * decayed(k / how.iterations)
        f = [stepped(*four, lr) for four in zip(f, grads, m[:-1], before[:-1], strict=True)]
    u, g = step.draws.uniform(2, how.adapt_steps)[s], before[-1]
    D, X_t = encoded(X, f), encoded(step.X[s].double(), f)
    for k in range(how.adapt_steps):
        a, b = int(u[0, k] * n), int(u[1, k] * len(X_t))
        rows_of_D, g = min(n, how.batch), g.requires_grad_()
        target = around(X_t, b, min(len(X_t), how.batch))
        part = around(D, a, rows_of_D), around(y, a, rows_of_D), target
        (grad,) = torch.autograd.grad(head_loss(g, *part, how.adapt_mmd), g)
        g = stepped(g, grad, m[-1], before[-1], how.adapt_lr)
    return [*f, g]


@pytest.mark.parametrize("batch", [4, 8, 64])
@pytest.mark.parametrize("stored, gold", [((20, 5), (30, 7)), ((0, 2), (3, 30))])
def test_both_phases_take_the_steps_that_autograd_would(stored, gold, batch):
    how = component("replay", "meta", iterations=5, adapt_steps=5, batch=batch, anchor=0.1)
    start = Learner((2, 8, 6, 2), SEEDS).copy()
    found = Learner((2, 8, 6, 2), SEEDS)
    given = step(stored=stored, gold=gold)
    how.replay(given, Pseudo(None, Rows.full(given.X, torch.zeros(2, 60).long())), found)
    for s in range(2):
        want = by_autograd(step(stored=stored, gold=gold), start, s, how)
        for old, mine, slow in zip(start, found.theta, want, strict=True):
            moved, expected = (mine[s] - old[s]).double(), slow - old[s]
            torch.testing.assert_close(moved, expected, rtol=1e-3, atol=1e-5 * expected.abs().max())


def test_the_official_gradient_penalty_never_moves_the_encoder():
    """|d mean margin / d f(x)|^2 by double backward: no gradient reaches f, one layer or two."""
    gen = torch.Generator().manual_seed(0)
    x, encoder = torch.randn(20, 4, generator=gen), torch.randn(4, 6, generator=gen)
    y = torch.arange(20) % 3
    encoder.requires_grad_()
    for sizes in ((6, 3), (6, 7, 3)):
        head = [torch.randn(*s, generator=gen, requires_grad=True) for s in pairwise(sizes)]
        f = (x @ encoder).relu()
        z = f @ head[0] if len(head) == 1 else (f @ head[0]).relu() @ head[1]
        rival = z.scatter(1, y[:, None], -torch.inf).amax(1)
        margin = (z.gather(1, y[:, None])[:, 0] - rival).mean()
        (jacobian,) = torch.autograd.grad(margin, f, create_graph=True)
        penalty = jacobian.square().sum()
        (grad,) = torch.autograd.grad(penalty, encoder, allow_unused=True, materialize_grads=True)
        assert penalty > 0 and not grad.any()


def test_anchor_holds_the_parameters_back():
    start, free, held = (
        Learner((2, 8, 6, 2), SEEDS),
        adapt(step(), anchor=0.0, iterations=20, adapt_steps=20),
        adapt(step(), anchor=5.0, iterations=20, adapt_steps=20),
    )
    for a, b, c in zip(start.theta, free.theta, held.theta, strict=True):
        assert ((c - a).norm(dim=(1, 2)) < (b - a).norm(dim=(1, 2))).all()


def test_pseudo_labels_are_never_read():
    assert same(adapt(step(labels=0), labels=0), adapt(step(labels=1), labels=1))


def test_ragged_sets_do_not_mix_replicas():
    ragged = adapt(step(stored=(20, 0), gold=(30, 3)))
    full, small = adapt(step()), adapt(step(stored=(0, 0), gold=(3, 3)))
    for r, a, b in zip(ragged.theta, full.theta, small.theta, strict=True):
        assert torch.equal(r[0], a[0]) and torch.equal(r[1], b[1])
    assert not same(full, adapt(step(stored=(0, 0))))


def test_schedule():
    assert [decayed(p) for p in (0, 0.49, 0.5, 0.74, 0.75, 0.99)] == [1, 1, 0.1, 0.1, 0.01, 0.01]


@pytest.mark.parametrize("classes, batch", [(2, 64), (3, 25)])
def test_fusing_seeds_changes_no_bit(classes, batch):
    data = blobs(rows=300, drift=1.0, classes=classes)
    short = ("replay.iterations=8", "replay.adapt_steps=10", f"replay.batch={batch}")
    fused = run("method=eaml", *short, seeds=(0, 1, 2), data=data).outcome
    for s in range(3):
        alone = run("method=eaml", *short, seeds=(s,), data=data).outcome
        assert np.array_equal(fused.R[s], alone.R[0])
        for layer, single in zip(fused.learner.theta, alone.learner.theta, strict=True):
            assert torch.equal(layer[s], single[0])


def test_brings_gold_and_segment_together_without_losing_gold():
    data = blobs(rows=1500, drift=1.5, spread=1.0)
    sizes = {"segment_size": 300, "test_size": 100, "data": data, "seeds": (10, 11)}
    eaml = run("method=eaml", **sizes).outcome
    assert (eaml.R[:, 1, 0] > 0.95).all()
    assert eaml.R[:, -1, -1].mean() >= run("method=st", **sizes).outcome.R[:, -1, -1].mean()
