"""Gradual self-training's labels: the least confident share goes, ties stay."""

import pytest
import torch
from made_steps import learner, step

from sdsl.config.schema import component
from sdsl.core.rows import Rows


@pytest.mark.parametrize(("X", "drop", "kept"), [
    ([*range(-20, -10), *range(1, 12)], 0.0, 21),
    ([*range(-20, -10), *range(1, 12)], 0.1, 19),  # the third smallest of 21 is the quantile
    ([*range(-20, -10), *range(1, 12)], 1.0, 1),
    ([900] * 5 + [1], 0.9, 5),  # a saturated softmax
])  # fmt: skip
def test_the_least_confident_go_and_ties_stay(X, drop, kept):
    of = learner(1, 2)
    of.theta = [torch.tensor([[0.0, 1.0], [0.0, 0.0]])]  # logits (0, x)
    x = torch.tensor(X)[:, None] / 10
    pseudo = component("labeler", "gst", drop=drop).label(step(Rows.empty(1), Rows.empty(1), x), of)
    assert torch.equal(pseudo.y, (x[:, 0] > 0).long())
    assert len(pseudo.rows) == kept
    surest = x[:, 0].abs().sort(descending=True).values[:kept]
    assert torch.equal(pseudo.rows.X[:, 0].abs().sort(descending=True).values, surest)
    assert torch.equal(pseudo.rows.y, (pseudo.rows.X[:, 0] > 0).long())
