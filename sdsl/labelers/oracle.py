"""The oracle: true labels of all segments so far (JT), or of the current one (control)."""

import torch

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import settings


@settings
class Oracle(Labeler):
    keep_all: bool  # JT keeps every segment; false: X_t alone

    privileged = True
    own_units = True  # the rows of all segments

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.X, self.y = gold.X[:0], gold.y[:0]  # of all segments

    def label(self, step: Step, learner: Learner) -> Pseudo:
        assert step.truth is not None  # a privileged component is shown it
        if not self.keep_all:
            return Pseudo(step.truth, Rows(step.X, step.truth))
        self.X, self.y = torch.cat([self.X, step.X]), torch.cat([self.y, step.truth])
        held = float(len(self.X) * (self.X.shape[1] + 1))
        return Pseudo(step.truth, Rows(self.X, self.y), {"memory_numbers": held})
