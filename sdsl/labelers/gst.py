"""Gradual self-training's labels (Kumar 2020): the model's own, without the least confident tenth.

Keep x if max_c p_c(x) - min_c p_c(x) reaches the segment's `drop` quantile.
"""

from dataclasses import dataclass

import torch

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number
from sdsl.core.learner import Learner
from sdsl.core.replica import Rows


@dataclass
class Gst(Labeler):
    drop: float = number(low=0, high=1)  # share of the segment, the least confident first

    def label(self, step: Step, learner: Learner) -> Pseudo:
        p = learner.probabilities(step.X)  # [S, n, C]
        y = p.argmax(2)
        confidence = p.amax(2) - p.amin(2)
        # One replica at a time: a saturated softmax ties many rows at 1, and ties must all stay.
        bar = torch.stack([torch.quantile(c, self.drop) for c in confidence])
        return Pseudo(y, Rows.full(step.X, y).where(confidence >= bar[:, None]))
