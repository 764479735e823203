"""DANN: descent through the reversal layer, the schedules, and no pseudo-label anywhere."""

import math

import pytest
import torch
import torch.nn.functional as F
from made_steps import learner, same, two_sided

from sdsl.config.schema import component
from sdsl.core.draws import Batches
from sdsl.core.network import affine, graph
from sdsl.core.rows import Rows
from sdsl.replays.adversarial import domain_head


def adapted(**rows):
    of = learner(2, 8, 6, 2)
    component("replay", "adversarial", steps=5, batch=64).replay(*two_sided(**rows), of)
    return of


def reversal(x, strength):
    """The paper's layer R(x) = x with dR/dx = -strength."""
    x = x.clone()
    x.register_hook(lambda grad: -strength * grad)
    return x


def test_replay_is_descent_through_the_reversal_layer():
    (now, pseudo), (again, _) = two_sided(), two_sided()
    found, plain = learner(2, 8, 6, 2), learner(2, 8, 6, 2)
    how = {"steps": 5, "batch": 8, "width": 5, "lr": 0.1, "momentum": 0.9}
    log = component("replay", "adversarial", **how).replay(again, pseudo, found)
    head = domain_head(6, 5, now.draws)
    theta = [layer.requires_grad_() for layer in (*plain.theta, *head)]
    optimizer = torch.optim.SGD(theta, momentum=0.9)
    side = torch.tensor([1.0] * 8 + [-1.0] * 8)
    sets = [now.gold, Rows.unlabelled(torch.cat([now.X, now.lookback.X]))]
    for k, (x, y, w) in enumerate(Batches(sets, [1.0, 0.0], 5, 8, now.draws)):
        f = x
        for layer in plain.theta[:-1]:
            f = affine(f, layer).relu()
        strength = 2 / (1 + math.exp(-10 * k / 5)) - 1
        domain = graph(reversal(f, strength), head)[:, 0]
        errors = F.cross_entropy(affine(f, plain.theta[-1]), y, reduction="none")
        confused = F.softplus(side * domain).mean()
        optimizer.param_groups[0]["lr"] = 0.1 * (1 + 10 * k / 5) ** -0.75
        optimizer.zero_grad()
        ((w * errors).sum() + confused).backward()
        optimizer.step()
    torch.testing.assert_close(found.theta, [p.detach() for p in plain.theta])
    assert log["loss_domain"] == pytest.approx(float(confused.detach()), rel=1e-5)


def test_pseudo_labels_are_never_read_and_stored_rows_may_be_missing():
    assert same(adapted(label=0), adapted(label=1))
    assert not same(adapted(), adapted(stored=0))
