"""EAML: the trajectory, the head's gradient, the empty penalty, and no pseudo-label anywhere."""

from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support import blobs, component, run

from sdsl.algorithms.mmd import MMD
from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.replays.meta import compare, decayed, head_gradient, trajectory

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


def test_head_gradient_is_that_of_cross_entropy_plus_mmd():
    draws, b = Draws(SEEDS, "x"), 8
    phi, g = draws.normal(2 * b, 5), draws.normal(3, 5).requires_grad_()
    y = F.one_hot(draws.permutation(b) % 3, 3).mT.float()
    real, pairs, w = compare(torch.tensor([8, 5]), torch.tensor([8, 6]), b)
    z = torch.bmm(g, phi.mT)
    ce = -(z[:, :, :b].log_softmax(1) * y * w[:, None]).sum()
    (want,) = torch.autograd.grad(ce + 0.5 * MMD.apply(z, real, pairs).sum(), g)
    torch.testing.assert_close(
        head_gradient(g.detach(), phi, y, w, real, pairs, 0.5), want, rtol=1e-4, atol=1e-6
    )


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
