"""Gradual self-training: dropout's hand-made gradient, and a drift that ST cannot follow."""

import support
import torch
from torch.nn.functional import cross_entropy

from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.metrics import summarise
from sdsl.core.replica import Draws, Rows


def test_gradient_under_dropout_is_autograds():
    learner, X = Learner((3, 8, 8, 4), (1,)), torch.randn(1, 20, 3)
    rows = Rows.full(X, torch.randint(0, 4, (1, 20)))
    how = support.component("replay", "gst", epochs=1, batch=20, dropout=0.3, l2=0.01)
    before = learner.copy()
    step = Step(1, rows, rows, X, before, Draws((1,), "batches"))
    how.replay(step, Pseudo(rows.y, rows), learner)

    draws, theta = Draws((1,), "batches"), [p.clone()[0].requires_grad_() for p in before]
    index = (draws.uniform(1, 20)[0, 0] * 20).long()
    h, y = X[0, index], rows.y[0, index]
    for layer in theta[:-1]:
        h = (h @ layer[:-1] + layer[-1]).relu()
    h = h * (draws.uniform(20, 8)[0] >= 0.3) / 0.7
    loss = cross_entropy(h @ theta[-1][:-1] + theta[-1][-1], y)
    loss = loss + 0.01 * sum(layer[:-1].square().sum() for layer in theta)
    loss.backward()
    torch.optim.Adam(theta, lr=how.lr).step()
    for mine, slow, start in zip(learner.theta, theta, before, strict=True):
        torch.testing.assert_close(mine[0].detach(), slow.detach(), rtol=1e-4, atol=2e-5)
        assert (slow - start[0]).abs().max() > how.lr / 2


def test_follows_a_slow_drift():
    data = support.blobs(rows=3000, drift=2.4)
    out = support.run("method=gst", seeds=(10,), data=data).outcome
    still = support.run("method=st", seeds=(10,), data=data).outcome
    assert summarise(out.R[0]).acc_online > 0.95
    assert summarise(still.R[0]).acc_online < 0.9
