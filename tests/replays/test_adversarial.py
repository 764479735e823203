"""DANN: the reversal layer's gradient, the schedules, and alignment without any pseudo-label."""

import math
from functools import partial

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from support import blobs, component, run

from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.network import affine, cross_entropy, gradients, graph
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.training import Sgd
from sdsl.replays.adversarial import (
    annealed,
    domain_head,
    domain_logit,
    domain_loss,
    domain_slope,
    pool,
    reversal,
)

SEEDS = (3, 4)
dann = partial(component, "replay", "adversarial")


def step(seeds=SEEDS, stored=(20, 20), labels=0) -> Step:
    """Made-up rows; `labels` is written wherever a pseudo-label could be read."""
    draws = Draws(seeds, "rows")
    X = draws.normal(60, 2)
    gold = Rows.full(X[:, :30] - 1, (X[:, :30, 0] > 0).long())
    memory = Rows(X[:, :20] + 1, torch.full((len(seeds), 20), labels), torch.tensor(stored))
    return Step(2, gold, memory, X + 1, [], Draws(seeds, "batches"))


def adapt(step: Step, labels=0, seeds=SEEDS, **settings) -> Learner:
    learner = Learner((2, 8, 6, 2), seeds)
    rows = Rows.full(step.X, torch.full(step.X.shape[:2], labels))
    dann(**{"steps": 5, "batch": 64} | settings).replay(step, Pseudo(None, rows), learner)
    return learner


class Reverse(torch.autograd.Function):
    """The paper's layer R(x) = x with dR/dx = -strength."""

    @staticmethod
    def forward(ctx, x, strength):
        ctx.strength = strength
        return x.view_as(x)

    @staticmethod
    def backward(ctx, grad):
        return -ctx.strength * grad, None


def test_domain_loss_and_its_slope_are_autograds():
    logits = 3 * Draws(SEEDS, "u").normal(10, 1)[0].requires_grad_()
    side = torch.tensor([1.0] * 5 + [-1.0] * 5)  # D, then X_t
    expected = F.softplus(side * logits[:, 0]).mean()
    slope = torch.autograd.grad(expected, logits)[0]
    found = logits.detach().numpy().copy()
    assert domain_loss(found) == pytest.approx(expected.item(), rel=1e-5)
    domain_slope(found)
    torch.testing.assert_close(torch.from_numpy(found), slope)


def test_replay_is_descent_through_the_reversal_layer():
    made, settings = step(), dann(steps=5, batch=8, width=5)
    learner, plain = Learner((2, 8, 6, 2), SEEDS), Learner((2, 8, 6, 2), SEEDS)
    settings.replay(made, Pseudo(None, Rows.empty_like(made.X)), learner)

    made = step()  # with generators that have drawn nothing
    head = [layer.requires_grad_() for layer in domain_head(6, 5, made.draws)]
    theta = [*plain.theta, *head]
    optimizer = Sgd(theta, settings.momentum)
    sets = [made.gold, pool(made.X, made.lookback)]
    side = torch.tensor([1.0] * 8 + [-1.0] * 8)
    for k, (x, y, w) in enumerate(Batches(sets, [1.0, 0.0], 5, 8, made.draws)):
        f = x
        for layer in plain.theta[:-1]:
            f = affine(f, layer).relu()
        domain = graph(Reverse.apply(f, reversal(k / 5)), head)[:, :, 0]
        logits = affine(f, plain.theta[-1])
        loss = cross_entropy(logits, y, w) + F.softplus(side * domain).mean(1)
        optimizer.step(gradients(loss, theta), settings.lr * annealed(k / 5))
    torch.testing.assert_close(learner.theta, plain.theta)


def test_the_domain_heads_logit_is_that_of_its_network():
    head, f = domain_head(6, 5, Draws(SEEDS, "head")), Draws(SEEDS, "f").normal(10, 6)
    torch.testing.assert_close(domain_logit(f, head), graph(f, head)[:, :, 0])


def test_schedules():
    assert reversal(0) == 0
    assert reversal(0.1) == pytest.approx((math.e - 1) / (math.e + 1))
    assert reversal(1) == pytest.approx(0.99990920)
    assert annealed(0) == 1
    assert annealed(1) == pytest.approx(11**-0.75)


def test_pseudo_labels_are_never_read():
    a, b = adapt(step(labels=0), labels=0), adapt(step(labels=1), labels=1)
    assert all(torch.equal(p, q) for p, q in zip(a.theta, b.theta, strict=True))


def test_stored_rows_take_part_and_may_be_ragged_or_missing():
    ragged = adapt(step(stored=(20, 0)))
    full, none = adapt(step(stored=(20, 20))), adapt(step(stored=(0, 0)))
    for r, a, b in zip(ragged.theta, full.theta, none.theta, strict=True):
        assert torch.equal(r[0], a[0]) and torch.equal(r[1], b[1])
    assert not torch.equal(full.theta[0], none.theta[0])


def test_fusing_seeds_changes_no_bit():
    data, short = blobs(rows=300, drift=1.0), "replay.steps=40"
    fused = run("method=dann", short, seeds=(0, 1, 2), data=data).outcome
    for s in range(3):
        alone = run("method=dann", short, seeds=(s,), data=data).outcome
        assert np.array_equal(fused.R[s], alone.R[0])
        for layer, single in zip(fused.learner.theta, alone.learner.theta, strict=True):
            assert torch.equal(layer[s], single[0])


def test_follows_a_drift_that_a_frozen_model_loses():
    data = blobs(rows=1500, drift=1.6, spread=1.0)
    sizes = {"segment_size": 300, "test_size": 100, "data": data, "seeds": (10, 11)}
    dann, frozen = run("method=dann", **sizes).outcome, run("method=st", **sizes).outcome
    blind = run("method=dann", "replay.strength=0", **sizes).outcome
    assert (dann.R[:, -1, -1] > frozen.R[:, -1, -1] + 0.05).all()
    assert (dann.curves["domain_acc"][:, -1] < blind.curves["domain_acc"][:, -1] - 0.1).all()
