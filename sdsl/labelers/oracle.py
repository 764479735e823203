"""The oracle: true labels of all segments so far (JT), or of the current one (control)."""

from dataclasses import dataclass

import torch

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.replica import Rows


@dataclass
class Oracle(Labeler):
    keep_all: bool  # JT keeps every segment; false: X_t alone, the short lookback's oracle

    privileged = True

    def start(self, gold, learner, draws) -> None:
        self.seen: list[Rows] = []

    def label(self, step: Step, learner: Learner) -> Pseudo:
        rows = Rows.full(step.X, step.truth)
        if self.keep_all:
            self.seen.append(rows)
            X, y = (torch.cat([getattr(r, a) for r in self.seen], 1) for a in ("X", "y"))
            rows = Rows.full(X, y)
        return Pseudo(y=step.truth, rows=rows)
