"""Gradual self-training's labels (Kumar 2020): the model's own, without the least confident tenth.

Keep x if max_c p_c(x) - min_c p_c(x) reaches the segment's `drop` quantile.
"""

import torch

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Share, settings


@settings
class Gst(Labeler):
    drop: Share  # of the segment, the least confident first

    def label(self, step: Step, learner: Learner) -> Pseudo:
        p = learner.probabilities(step.X)  # [n, C]
        y, confidence = p.argmax(1), p.amax(1) - p.amin(1)
        # Ties stay: a saturated softmax gives many rows a confidence of 1.
        sure = confidence >= torch.quantile(confidence, self.drop)
        return Pseudo(y, Rows(step.X, y)[sure])
