"""Gradual self-training: Adam under dropout against autograd; a drift that ST cannot follow."""

import support
import torch
import torch.nn.functional as F
from made_steps import learner, step

from sdsl.config.schema import component
from sdsl.core.contract import Pseudo
from sdsl.core.network import affine
from sdsl.core.rows import Rows


def test_steps_under_dropout_are_those_of_autograd_and_torchs_adam():
    of, rows = learner(3, 8, 8, 4), support.some_rows(20, 3, 4)
    how = component("replay", "gst", epochs=4, batch=20, dropout=0.3, l2=0.01)
    now, again = (step(Rows.empty(3), Rows.empty(3), rows.X) for _ in range(2))
    theta = [p.clone().requires_grad_() for p in of.theta]
    log = how.replay(now, Pseudo(rows.y, rows[:15]), of)  # five rows were dropped as unsure
    index = (again.draws.uniform(4, 20) * 15).long()
    keep = again.draws.uniform(4, 20, 8) >= 0.3
    optimizer = torch.optim.Adam(theta, lr=how.lr)
    for k in range(4):
        h = rows.X[index[k]]
        for layer in theta[:-1]:
            h = affine(h, layer).relu()
        ce = F.cross_entropy(affine(h * keep[k] / 0.7, theta[-1]), rows.y[index[k]])
        optimizer.zero_grad()
        (ce + 0.01 * sum(layer[:-1].square().sum() for layer in theta)).backward()
        optimizer.step()
    torch.testing.assert_close(of.theta, [p.detach() for p in theta], rtol=1e-4, atol=2e-5)
    assert log["kept"] == 15 / 20 and abs(log["loss_replay"] - float(ce.detach())) < 1e-5
