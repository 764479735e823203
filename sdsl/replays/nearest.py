"""1-NN instead of a network: h(x) = label of the nearest of the newly labelled rows (SCARGC)."""

from collections.abc import Mapping
from typing import Any

import torch
from sklearn.neighbors import KNeighborsClassifier

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import settings


@settings
class Nearest(Replay):
    own_units = True  # the rows themselves

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.X, self.y = gold.X, gold.y
        model = KNeighborsClassifier(1).fit(self.X.numpy(), self.y.numpy())
        learner.classifier = lambda x: torch.from_numpy(model.predict(x.numpy()))

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        self.start(Rows(state["X"], state["y"]), learner, learner.init)

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        if len(pseudo.rows):
            self.start(pseudo.rows, learner, step.draws)
        return {"model_numbers": float(self.X.numel() + self.y.numel())}
