"""Plain replay: cross-entropy over the chosen sets is descended, without a search or projection."""

from typing import Literal

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.learner import Learner
from sdsl.core.settings import settings
from sdsl.core.training import Training


@settings
class Retrain(Replay):
    fit: Training
    origin: Literal["generation", "previous", "fresh"]  # the parameters that replay starts from
    sets: list[Literal["gold", "lookback", "segment"]]  # segment: the newly labelled rows

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        if self.origin == "fresh":
            learner.reset()
        elif self.origin == "previous":
            learner.load(step.theta)
        given = {"gold": step.gold, "lookback": step.lookback, "segment": pseudo.rows}
        sets = [given[name] for name in self.sets]
        fitted = learner.fit(self.fit, sets, step.draws, unlabelled=step.X)
        return {"loss_replay": fitted.loss, "steps_replay": float(fitted.steps)}
