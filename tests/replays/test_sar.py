"""SAR against autograd and torch's SGD; unreliable rows do not count; a collapse goes back."""

import math

import pytest
import torch
from made_steps import learner, step
from support import some_rows

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.draws import Batches
from sdsl.core.network import graph
from sdsl.core.rows import Rows


def small(**settings):
    of, now = learner(2, 8, 8, 2), step(Rows.empty(2), Rows.empty(2), some_rows(30).X)
    of.theta[-1] *= 20  # as sure as a trained network
    how = component("replay", "sar", **{"steps": 6, "batch": 8, "lr": 0.05} | settings)
    how.start(Rows.empty(2), of, now.draws)
    return how, of, now


def entropy(x, theta):
    p = graph(x, theta).softmax(1)
    return -(p * p.log()).sum(1)


def slow_replay(how, theta, now):
    """(the parameters, how often they were reset), in float64."""
    source, k = [p.double() for p in theta], len(theta) - (how.adapt == "encoder")

    def begin():
        free = [p.clone().requires_grad_() for p in source[:k]]
        return free, torch.optim.SGD(free, lr=how.lr, momentum=0.9), None

    (free, optimizer, average), resets, gate = begin(), 0, how.gate * math.log(2)
    rows = [Rows.unlabelled(now.X.double())]
    for x, _, _ in Batches(rows, [1.0], how.steps, how.batch, now.draws):
        H = entropy(x, free + source[k:])
        reliable = gate > H
        optimizer.zero_grad()
        (H * reliable).sum().div(reliable.sum().clamp(min=1)).backward()
        length = math.sqrt(sum(float(p.grad.square().sum()) for p in free)) + 1e-12
        pushed = [(p + how.rho * p.grad / length).detach().requires_grad_() for p in free]
        H = entropy(x, pushed + source[k:])
        reliable &= gate > H
        loss = (H * reliable).sum() / reliable.sum().clamp(min=1)
        for p, g in zip(free, torch.autograd.grad(loss, pushed), strict=True):
            p.grad = g
        optimizer.step()
        if reliable.any():
            average = loss.item() if average is None else 0.9 * average + 0.1 * loss.item()
        if average is not None and average < how.reset * math.log(2):
            (free, optimizer, average), resets = begin(), resets + 1
    return [p.detach() for p in free + source[k:]], resets


@pytest.mark.parametrize("adapt", ["encoder", "all"])
@pytest.mark.parametrize(("gate", "reset", "resets"), [
    (0.7, 0.0, 0), (0.7, 0.2, 2),
    (0.7, 1.0, 6),  # the entropy below the gate is always too low: every step goes back
    (0.0, 1.0, 0),  # no row is reliable
])  # fmt: skip
def test_a_whole_replay_against_autograd(adapt, gate, reset, resets):
    how, of, now = small(adapt=adapt, gate=gate, rho=0.3, reset=reset)
    before = of.copy()
    log = how.replay(now, Pseudo(None, Rows.empty(2)), of)
    theta, times = slow_replay(how, before, step(Rows.empty(2), Rows.empty(2), now.X))
    assert log["resets"] == times
    for mine, slow, p0 in zip(of.theta, theta, before, strict=True):
        torch.testing.assert_close(mine.double(), slow, rtol=1e-3, atol=1e-5)
        fixed = adapt == "encoder" and p0 is before[-1]
        assert torch.equal(mine, p0) == (fixed or gate == 0 or resets == 6)
