"""PL-Conf (Lee 2013): the rows of X_t with the largest max_c softmax h(x)_c, labelled by argmax."""

from typing import Literal

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows, rank_in_class
from sdsl.core.settings import Positive, settings
from sdsl.core.training import Training
from sdsl.labelers.robust import first_fit


@settings
class Confidence(Labeler):
    size: Positive  # rows that are given a pseudo-label
    balanced: bool  # size / C rows of each predicted class, instead of size over all
    fit: Training | None  # on D and D_{t-1}, before labelling; None: the learner labels as it is
    origin: Literal["fresh", "previous"]  # the parameters that this fit starts from

    def label(self, step: Step, learner: Learner) -> Pseudo:
        log = first_fit(self.fit, self.origin, step, learner) if self.fit else {}
        p, y = learner.probabilities(step.X).max(1)  # [n] each
        best = p.argsort(descending=True, stable=True)
        if self.balanced:
            share = max(1, self.size // learner.classes)
            best = best[(rank_in_class(-p, y, learner.classes) < share)[best]]
        best = best[: self.size]
        return Pseudo(y, Rows(step.X, y)[best], {"least_confidence": float(p[best[-1]])} | log)
