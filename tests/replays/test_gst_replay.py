"""Gradual self-training: dropout's hand-made gradient, and a drift that ST cannot follow."""

import support
import torch
from torch.nn.functional import cross_entropy

from sdsl.core.contract import Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.metrics import summarise
from sdsl.core.replica import Draws, Rows


def test_steps_under_dropout_are_those_of_autograd_and_torchs_adam():
    learner, X = Learner((3, 8, 8, 4), (1,)), torch.randn(1, 20, 3)
    rows = Rows.full(X, torch.randint(0, 4, (1, 20)))
    how = support.component("replay", "gst", epochs=4, batch=20, dropout=0.3, l2=0.01)
    before = learner.copy()
    step = Step(1, rows, rows, X, before, Draws((1,), "batches"))
    how.replay(step, Pseudo(rows.y, rows), learner)

    draws, theta = Draws((1,), "batches"), [p.clone()[0].requires_grad_() for p in before]
    index = (draws.uniform(4, 20)[0] * 20).long()
    keep = draws.uniform(4, 20, 8)[0] >= 0.3
    optimizer = torch.optim.Adam(theta, lr=how.lr)
    for k in range(4):
        h, y = X[0, index[k]], rows.y[0, index[k]]
        for layer in theta[:-1]:
            h = (h @ layer[:-1] + layer[-1]).relu()
        h = h * keep[k] / 0.7
        loss = cross_entropy(h @ theta[-1][:-1] + theta[-1][-1], y)
        loss = loss + 0.01 * sum(layer[:-1].square().sum() for layer in theta)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    for mine, slow in zip(learner.theta, theta, strict=True):
        torch.testing.assert_close(mine[0].detach(), slow.detach(), rtol=1e-4, atol=2e-5)


def test_follows_a_slow_drift():
    data = support.blobs(rows=3000, drift=2.4)
    out = support.run("method=gst", seeds=(10,), data=data).outcome
    still = support.run("method=st", seeds=(10,), data=data).outcome
    assert summarise(out.R[0]).acc_online > 0.95
    assert summarise(still.R[0]).acc_online < 0.9
