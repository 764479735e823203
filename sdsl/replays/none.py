"""No replay: the model stays as the gold set made it (ST, the lower bound)."""

from dataclasses import dataclass

from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.learner import Learner


@dataclass
class NoReplay(Replay):
    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        return {}
