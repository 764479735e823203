"""Plain replay: min CE(D) + CE(D_{t-1}) + CE(X_t, y_t), each a mean of its own ("w/o FR")."""

from typing import Literal

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.learner import Learner
from sdsl.core.settings import Weight, settings
from sdsl.core.training import Training
from sdsl.labelers.trust import Trust


@settings
class Retrain(Replay):
    fit: Training
    origin: Literal["generation", "previous", "fresh"]  # the parameters that replay starts from
    trust: Trust  # how gold's weight falls
    gold: Weight  # weight of D
    lookback: Weight  # weight of the rows kept from t-1
    segment: Weight  # weight of the newly labelled rows

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        if self.origin == "fresh":
            learner.reset()
        elif self.origin == "previous":
            learner.load(step.theta)
        trust = float(self.trust(step, learner.classes)) if self.gold else 0.0
        given = [
            (step.gold, self.gold * trust, self.gold),
            (step.lookback, self.lookback, self.lookback),
            (pseudo.rows, self.segment, 1.0),
        ]
        # A set whose weight is set to 0 would cost draws and time.
        sets, weights = zip(*[(rows, w) for rows, w, used in given if used], strict=True)
        loss = learner.fit(self.fit, sets, step.draws, weights, unlabelled=step.X)
        return {"loss_replay": loss}
