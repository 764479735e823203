"""DANN: descent through the reversal layer, the schedules, and no pseudo-label anywhere."""

import math

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from made_steps import learner, same, two_sided
from support import blobs, run

from sdsl.config.schema import component
from sdsl.core.draws import Batches, Draws
from sdsl.core.network import affine, graph
from sdsl.core.rows import Rows
from sdsl.replays.adversarial import annealed, domain_head, domain_loss, reversal


def adapted(settings=None, **rows):
    now, pseudo = two_sided(**rows)
    of, short = learner(2, 8, 6, 2), {"steps": 5, "batch": 64}
    component("replay", "adversarial", **short | (settings or {})).replay(now, pseudo, of)
    return of


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
    logits = (3 * Draws(3, "u").normal(10, 1)).requires_grad_()
    side = torch.tensor([1.0] * 5 + [-1.0] * 5)  # D, then X_t
    expected = F.softplus(side * logits[:, 0]).mean()
    slope = torch.autograd.grad(expected, logits)[0]
    found = logits.detach().numpy().copy()
    assert domain_loss(found) == pytest.approx(expected.item(), rel=1e-5)
    torch.testing.assert_close(torch.from_numpy(found), slope)


def test_replay_is_descent_through_the_reversal_layer():
    (now, _), plain = two_sided(), learner(2, 8, 6, 2)
    how = {"steps": 5, "batch": 8, "width": 5, "lr": 0.1, "momentum": 0.9}
    found = adapted(how)
    head = domain_head(6, 5, now.draws)
    theta = [layer.requires_grad_() for layer in (*plain.theta, *head)]
    optimizer = torch.optim.SGD(theta, momentum=0.9)
    side = torch.tensor([1.0] * 8 + [-1.0] * 8)
    sets = [now.gold, Rows.unlabelled(torch.cat([now.X, now.lookback.X]))]
    for k, (x, y, w) in enumerate(Batches(sets, [1.0, 0.0], 5, 8, now.draws)):
        f = x
        for layer in plain.theta[:-1]:
            f = affine(f, layer).relu()
        domain = graph(Reverse.apply(f, reversal(k / 5)), head)[:, 0]
        errors = F.cross_entropy(affine(f, plain.theta[-1]), y, reduction="none")
        optimizer.param_groups[0]["lr"] = 0.1 * annealed(k / 5)
        optimizer.zero_grad()
        ((w * errors).sum() + F.softplus(side * domain).mean()).backward()
        optimizer.step()
    torch.testing.assert_close(found.theta, [p.detach() for p in plain.theta])


def test_schedules():
    assert reversal(0) == 0
    assert reversal(0.1) == pytest.approx((math.e - 1) / (math.e + 1))
    assert reversal(1) == pytest.approx(0.99990920)
    assert annealed(0) == 1
    assert annealed(1) == pytest.approx(11**-0.75)


def test_pseudo_labels_are_never_read_and_stored_rows_may_be_missing():
    assert same(adapted(label=0), adapted(label=1))
    assert not same(adapted(), adapted(stored=0))


def test_follows_a_drift_that_a_frozen_model_loses():
    data = blobs(rows=1500, drift=1.6, spread=1.0)
    sizes = {"segment_size": 300, "test_size": 100, "data": data}
    dann, frozen = run("method=dann", **sizes).outcome, run("method=st", **sizes).outcome
    blind = run("method=dann", "replay.strength=0", **sizes).outcome
    assert dann.R[-1, -1] > frozen.R[-1, -1] + 0.05
    assert dann.curves["domain_acc"][-1] < blind.curves["domain_acc"][-1] - 0.1
    assert np.isfinite(dann.R).all()
