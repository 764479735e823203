"""Joint training: from scratch on gold and every row the labeler gives, as one set (JT)."""

from dataclasses import dataclass

import torch

from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import setting
from sdsl.core.learner import Learner
from sdsl.core.replica import Rows
from sdsl.core.training import Training


@dataclass
class Joint(Replay):
    fit: Training = setting()

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        learner.reset()
        rows = Rows(
            torch.cat([pseudo.rows.X, step.gold.X], 1),
            torch.cat([pseudo.rows.y, step.gold.y], 1),
            pseudo.rows.count + step.gold.count,
        )
        return {"loss_replay": learner.fit(self.fit, [rows], step.draws)}
