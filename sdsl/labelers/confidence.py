"""PL-Conf (Lee 2013): the rows of X_t with the largest max_c softmax h(x)_c, labelled by argmax."""

from dataclasses import dataclass, field

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.component import number
from sdsl.contract import Labeler, Pseudo, Step
from sdsl.learner import Learner, Training
from sdsl.replica import Rows, take


@dataclass
class Confidence(Labeler):
    size: int = number(100, low=1)  # rows that are given a pseudo-label
    balanced: bool = False  # size / C rows of each predicted class, instead of size over all
    fit: Training = field(default_factory=Training)  # on D and D_{t-1}, before labelling

    def label(self, step: Step, learner: Learner) -> Pseudo:
        loss = learner.fit(self.fit, [step.gold, step.lookback], step.draws, unlabelled=step.X)
        p, y = learner.probabilities(step.X).max(2)  # [S, n] each
        if self.balanced:
            rank = rank_in_class(p, y, learner.classes)
            p = p.masked_fill(rank >= max(1, self.size // learner.classes), -1)
        # The width is the same for every replica, whatever the counts: fusing must change no shape.
        best = p.argsort(dim=1, descending=True, stable=True)[:, : self.size]
        chosen = take(p, best)
        rows = Rows(take(step.X, best), take(y, best), (chosen >= 0).sum(1))
        least = chosen.masked_fill(chosen < 0, torch.inf).amin(1)
        fitted = {"loss_label": loss} if self.fit.steps else {}
        return Pseudo(y, rows, {"least_confidence": least} | fitted)


def rank_in_class(p: Tensor, y: Tensor, classes: int) -> Tensor:
    """How many rows of the same predicted class are more confident: [S, n]."""
    order = p.argsort(dim=1, descending=True, stable=True)
    sorted_y = take(y, order)
    rank = F.one_hot(sorted_y, classes).cumsum(1).gather(2, sorted_y[:, :, None]).squeeze(2) - 1
    return torch.empty_like(rank).scatter_(1, order, rank)
