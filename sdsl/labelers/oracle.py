"""The oracle: true labels of all segments so far (JT), or of the current one (control)."""

from dataclasses import dataclass

import torch

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import setting
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows


@dataclass
class Oracle(Labeler):
    keep_all: bool = setting()  # JT keeps every segment; false: X_t alone

    privileged = True

    def own_units(self) -> bool:
        return self.keep_all

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.seen: list[Rows] = []

    def label(self, step: Step, learner: Learner) -> Pseudo:
        assert step.truth is not None  # a privileged component is shown it
        rows = Rows.full(step.X, step.truth)
        if self.keep_all:
            self.seen.append(rows)
            X, y = (torch.cat([getattr(r, a) for r in self.seen], 1) for a in ("X", "y"))
            rows = Rows.full(X, y)
        held = rows.count * (step.X.shape[2] + 1) * self.keep_all
        return Pseudo(step.truth, rows, {"memory_numbers": held})
