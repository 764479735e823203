"""PL-Conf (Lee 2013): the rows of X_t with the largest max_c softmax h(x)_c, labelled by argmax."""

from dataclasses import dataclass

import torch

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number, setting
from sdsl.core.learner import Learner
from sdsl.core.ranking import rank_in_class
from sdsl.core.replica import Rows, take
from sdsl.core.training import Training


@dataclass
class Confidence(Labeler):
    size: int = number(low=1)  # rows that are given a pseudo-label
    balanced: bool = setting()  # size / C rows of each predicted class, instead of size over all
    fit: Training = setting()  # on D and D_{t-1}, before labelling

    def label(self, step: Step, learner: Learner) -> Pseudo:
        loss = learner.fit(self.fit, [step.gold, step.lookback], step.draws, unlabelled=step.X)
        p, y = learner.probabilities(step.X).max(2)  # [S, n] each
        if self.balanced:
            rank = rank_in_class(-p, y, learner.classes)
            p = p.masked_fill(rank >= max(1, self.size // learner.classes), -1)
        # The width is the same for every replica, whatever the counts: fusing must change no shape.
        best = p.argsort(dim=1, descending=True, stable=True)[:, : self.size]
        chosen = take(p, best)
        rows = Rows(take(step.X, best), take(y, best), (chosen >= 0).sum(1))
        least = chosen.masked_fill(chosen < 0, torch.inf).amin(1)
        fitted = {"loss_label": loss} if self.fit.steps else {}
        return Pseudo(y, rows, {"least_confidence": least} | fitted)
