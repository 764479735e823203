"""PL-Conf (Lee 2013): the rows of X_t with the largest max_c softmax h(x)_c, labelled by argmax."""

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows, rank_in_class
from sdsl.core.settings import Positive, settings
from sdsl.core.training import Training


@settings
class Confidence(Labeler):
    size: Positive  # rows that are given a pseudo-label
    balanced: bool  # size / C rows of each predicted class, instead of size over all
    fit: Training  # on D and D_{t-1}, before labelling

    def label(self, step: Step, learner: Learner) -> Pseudo:
        loss = learner.fit(self.fit, [step.gold, step.lookback], step.draws, unlabelled=step.X)
        p, y = learner.probabilities(step.X).max(1)  # [n] each
        best = p.argsort(descending=True, stable=True)
        if self.balanced:
            share = max(1, self.size // learner.classes)
            best = best[(rank_in_class(-p, y, learner.classes) < share)[best]]
        best = best[: self.size]
        fitted = {"loss_label": loss} if self.fit.steps else {}
        return Pseudo(y, Rows(step.X, y)[best], {"least_confidence": float(p[best[-1]])} | fitted)
