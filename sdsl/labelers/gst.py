"""Gradual self-training's labels (Kumar 2020): the model's own, without the least confident tenth.

Keep x if max_c p_c(x) - min_c p_c(x) reaches the segment's `drop` quantile.
"""

from dataclasses import dataclass

import torch

from sdsl.component import number
from sdsl.contract import Labeler, Pseudo, Step
from sdsl.learner import Learner
from sdsl.replica import Rows


@dataclass
class Gst(Labeler):
    drop: float = number(0.1, low=0, high=1)  # share of the segment, the least confident first

    def label(self, step: Step, learner: Learner) -> Pseudo:
        p = learner.probabilities(step.X)  # [S, n, C]
        y = p.argmax(2)
        confidence = p.amax(2) - p.amin(2)
        # One replica at a time: a saturated softmax ties many rows at 1, and ties must all stay.
        bar = torch.stack([torch.quantile(c, self.drop) for c in confidence])
        return Pseudo(y, Rows.full(step.X, y).where(confidence >= bar[:, None]))
