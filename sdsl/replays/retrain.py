"""Plain replay: min CE(D) + CE(D_{t-1}) + CE(X_t, y_t), each a mean of its own ("w/o FR")."""

from dataclasses import dataclass

from torch import Tensor

from sdsl.algorithms.trust import Trust
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import choice, number, setting
from sdsl.core.learner import Learner
from sdsl.core.training import Training


@dataclass
class Retrain(Replay):
    fit: Training = setting()
    origin: str = choice("generation", "previous", "fresh")  # the parameters replay starts from
    trust: Trust = setting()  # how gold's weight falls
    gold: float = number(low=0)  # weight of D
    lookback: float = number(low=0)  # weight of the rows kept from t-1
    segment: float = number(low=0)  # weight of the newly labelled rows

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        if self.origin == "fresh":
            learner.reset()
        elif self.origin == "previous":
            learner.load(step.theta)
        sets = [step.gold, step.lookback, pseudo.rows]
        given = [self.gold, self.lookback, self.segment]
        used = [k for k in range(3) if given[k] or k == 2]  # what weighs nothing costs nothing
        gold = self.gold * self.trust(step, learner.classes)
        weights: list[float | Tensor] = [gold, self.lookback, self.segment]
        loss = learner.fit(
            self.fit,
            [sets[k] for k in used],
            step.draws,
            weights=[weights[k] for k in used],
            unlabelled=step.X,
        )
        return {"loss_replay": loss}
