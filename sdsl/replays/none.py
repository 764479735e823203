"""No replay: the model stays as the gold set made it (ST, the lower bound)."""

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.learner import Learner
from sdsl.core.settings import settings


@settings
class NoReplay(Replay):
    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        return {}
