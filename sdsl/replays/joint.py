"""Joint training: from scratch on gold and every row the labeler gives, as one set (JT)."""

from dataclasses import dataclass, field

import torch

from sdsl.contract import Pseudo, Replay, Step
from sdsl.learner import Learner, Training
from sdsl.replica import Rows


@dataclass
class Joint(Replay):
    fit: Training = field(default_factory=Training)

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        learner.reset()
        rows = Rows(
            torch.cat([pseudo.rows.X, step.gold.X], 1),
            torch.cat([pseudo.rows.y, step.gold.y], 1),
            pseudo.rows.count + step.gold.count,
        )
        return {"loss_replay": learner.fit(self.fit, [rows], step.draws)}
