"""Gradual self-training's labels: the least confident tenth goes, ties stay."""

import torch

from sdsl.core.contract import Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.labelers.gst import Gst


def test_the_least_confident_tenth_goes():
    learner = Learner((1, 2), (0,))  # logits (0, x): confidence grows with |x|
    learner.theta = [torch.tensor([[[0.0, 1.0], [0.0, 0.0]]])]
    X = torch.tensor([*range(-20, -10), *range(1, 12)]).float()[None, :, None] / 10
    rows = Rows.full(X[:, :1], torch.zeros(1, 1, dtype=torch.long))
    step = Step(1, rows, rows, X, learner.copy(), Draws((0,), "batches"))
    pseudo = Gst(drop=0.1).label(step, learner)
    kept = pseudo.rows.replica(0)[0].flatten()
    assert pseudo.y[0].tolist() == [0] * 10 + [1] * 11
    assert len(kept) == 19  # the quantile of 21 rows is the third smallest, which stays
    assert kept.abs().min() == torch.tensor(0.3)
    assert Gst(drop=0.0).label(step, learner).rows.count.tolist() == [21]
