"""EAML: both phases against autograd, MMD against its definition, no pseudo-label anywhere."""

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from made_steps import learner, same, two_sided
from support import some_rows

from sdsl.config.schema import component
from sdsl.core.network import affine, graph
from sdsl.replays.meta import DOMAINS, HEAD, add_mmd_slope, trajectory


def adapted(settings=None, hidden=(8, 6), **rows):
    now, pseudo = two_sided(**rows)
    of, short = learner(2, *hidden, 2), {"iterations": 4, "adapt_steps": 4, "batch": 8}
    log = component("replay", "meta", **short | (settings or {})).replay(now, pseudo, of)
    assert np.isfinite(log["loss_replay"])
    return of


def test_trajectory_is_stored_rows_in_two_parts_then_the_segment_in_three():
    now, _ = two_sided(stored=5)
    P = trajectory(now)
    assert [len(rows) for rows in P] == [2, 3, 20, 20, 20]
    assert torch.equal(torch.cat(P[:2]), now.lookback.X)
    assert torch.equal(torch.cat(P[2:]).sort(0).values, now.X.sort(0).values)


def mmd(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """MMD^2 by its definition, to be differentiated: x [n, C], y [m, C]."""
    n, m = len(x), len(y)
    if min(n, m) < 2:
        return 0 * (x.sum() + y.sum())
    z = torch.cat([x, y])
    d = (z[:, None] - z[None]).square().sum(2)
    b = d.detach().sum() / (len(z) * (len(z) - 1))
    k = sum(torch.exp(-d / (b * 2.0**q)) for q in (-2, -1, 0, 1, 2)) * (1 - torch.eye(n + m))
    within = k[:n, :n].sum() / (n * (n - 1)) + k[n:, n:].sum() / (m * (m - 1))
    return within - 2 * k[:n, n:].mean()


@pytest.mark.parametrize("C", [1, 3])
@pytest.mark.parametrize("n, m", [(12, 12), (5, 9), (2, 2), (2, 3), (64, 33), (1, 12), (12, 0)])
def test_mmd_slope_is_that_of_the_definition(n, m, C):
    z = torch.randn(n + m, C, generator=torch.Generator().manual_seed(n))
    z[n:] += 1
    free = z.double().requires_grad_()
    (want,) = torch.autograd.grad(mmd(free[:n], free[n:]), free)
    found = np.ones((2, n + m, C), np.float32)
    for slope, points in zip(found, (z.numpy(), 0 * z.numpy()), strict=True):
        add_mmd_slope(points[:n], points[n:], slope[:n], slope[n:])
    np.testing.assert_allclose(found[0] - 1, want, rtol=1e-4, atol=1e-6)
    assert np.isfinite(found[1]).all()  # all points equal: no bandwidth


def head_loss(g, source, y, target, weight: float) -> torch.Tensor:
    """CE(D) + weight MMD(D, P) of the head's layers on features [n, m], [k, m]."""
    z = graph(source, g)
    return F.cross_entropy(z, y) + weight * mmd(z, graph(target, g))


def around(X: torch.Tensor, start: int, n: int) -> torch.Tensor:
    """n rows from `start` on, standing in a circle."""
    return X[(torch.arange(n) + start) % len(X)] if n else X[:0]


def by_autograd(step, theta: list, how) -> list:
    """Meta-training and adaptation, written from the docstring, in float64."""
    X, y, n = step.gold.X.double(), step.gold.y, len(step.gold)
    held = min(n if n < 4 else n // 2, how.batch)
    before = [p.double() for p in theta]
    f, head = before[:-2], before[-2:]  # where there is one layer it is the head
    m = [torch.zeros_like(p) for p in before]

    def encoded(x, f):
        for layer in f:
            x = affine(x, layer).relu()
        return x

    def stepped(theta, grads, m, start, lr):
        for p, grad, a, q in zip(theta, grads, m, start, strict=True):
            a.mul_(how.momentum).add_(grad + how.decay * p + 2 * how.anchor * (p - q))
        return [(p - lr * a).detach() for p, a in zip(theta, m, strict=True)]

    def free(theta):
        return [p.detach().clone().requires_grad_() for p in theta]

    if f:  # otherwise there is nothing to meta-train
        P = [rows.double() for rows in trajectory(step)]
        size = [min(len(p) // 2, how.batch) for p in P]
        u = step.draws.uniform(3, how.iterations, DOMAINS)
    for k in range(how.iterations if f else 0):
        g = head
        turn = int(u[0, k, 0] * n)
        start = [int(u[2, k, j] * len(p)) for j, p in enumerate(P)]
        for j, p in enumerate(P):
            a = turn + held + int(u[1, k, j] * max(n - 2 * held + 1, 1))
            source, target = around(X, a, held), around(p, start[j], size[j])
            part = encoded(source, f), around(y, a, held), encoded(target, f)
            for _ in range(how.inner_steps):
                g = free(g)
                grads = torch.autograd.grad(head_loss(g, *part, how.inner_mmd), g)
                g = [p - how.inner_lr * grad for p, grad in zip(g, grads, strict=True)]
        f = free(f)
        net = [*f, *g]
        z = graph(around(X, turn, held), net)
        loss = F.cross_entropy(z, around(y, turn, held))
        for j, p in enumerate(P):
            query = graph(around(p, start[j] + size[j], size[j]), net)
            loss = loss + how.outer_mmd * mmd(z, query) / sum(b > 1 for b in size)
        lr = how.outer_lr * (1, 1, 0.1, 0.01)[4 * k // how.iterations]
        f = stepped(f, torch.autograd.grad(loss, f), m[:-2], before[:-2], lr)
    u, g = step.draws.uniform(2, how.adapt_steps), head
    D, X_t = encoded(X, f), encoded(step.X.double(), f)
    for k in range(how.adapt_steps):
        a, b = int(u[0, k] * n), int(u[1, k] * len(X_t))
        rows_of_D, g = min(n, how.batch), free(g)
        target = around(X_t, b, min(len(X_t), how.batch))
        part = around(D, a, rows_of_D), around(y, a, rows_of_D), target
        grads = torch.autograd.grad(head_loss(g, *part, how.adapt_mmd), g)
        g = stepped(g, grads, m[-2:], head, how.adapt_lr)
    return [*f, *g]


def assert_the_steps_of_autograd(hidden=(8, 6), stored=20, gold=30, **settings):
    settings = {"iterations": 4, "adapt_steps": 5, "anchor": 0.1} | settings
    found = adapted(settings, hidden, stored=stored, gold=gold)
    now, start = two_sided(stored=stored, gold=gold)[0], learner(2, *hidden, 2).theta
    want = by_autograd(now, start, component("replay", "meta", **settings))
    for old, mine, slow in zip(start, found.theta, want, strict=True):
        moved, expected = (mine - old).double(), slow - old
        assert expected.any()
        most = 1e-5 * expected.abs().max() + 2e-7  # the latter: theta rounded to float32
        torch.testing.assert_close(moved, expected, rtol=1e-3, atol=most)


@pytest.mark.parametrize("batch", [4, 8, 64])
@pytest.mark.parametrize("stored, gold", [(20, 30), (5, 7), (0, 3), (2, 30), (20, 1)])
def test_both_phases_take_the_steps_that_autograd_would(stored, gold, batch):
    assert_the_steps_of_autograd(stored=stored, gold=gold, batch=batch)


@pytest.mark.parametrize("hidden", [(), (8,), (8, 7, 6)])
def test_the_head_is_the_last_two_layers_of_a_network_of_any_depth(hidden):
    assert_the_steps_of_autograd(hidden, batch=8)


def test_the_official_gradient_penalty_never_moves_the_encoder():
    """|d mean margin / d f(x)|^2 under a head of two layers, differentiated twice: 0 at f."""
    rows, (encoder, *head) = some_rows(20, 4, 3), learner(4, 6, 7, 3).theta
    assert len(head) == HEAD
    f = affine(rows.X, encoder.requires_grad_()).relu()
    z, y = graph(f, [layer.requires_grad_() for layer in head]), rows.y[:, None]
    margin = (z.gather(1, y)[:, 0] - z.scatter(1, y, -torch.inf).amax(1)).mean()
    (jacobian,) = torch.autograd.grad(margin, f, create_graph=True)
    penalty = jacobian.square().sum()
    (grad,) = torch.autograd.grad(penalty, encoder, allow_unused=True, materialize_grads=True)
    assert penalty > 0 and not grad.any()


def test_pseudo_labels_are_never_read_and_stored_rows_may_be_missing():
    assert same(adapted(label=0), adapted(label=1))
    assert not same(adapted(), adapted(stored=0))
