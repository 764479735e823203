"""Joint training: from scratch on gold and every row the labeler gives, as one set (JT)."""

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import settings
from sdsl.core.training import Training


@settings
class Joint(Replay):
    fit: Training

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        learner.reset()
        rows = Rows.cat(pseudo.rows, step.gold)
        return {"loss_replay": learner.fit(self.fit, [rows], step.draws).loss}
