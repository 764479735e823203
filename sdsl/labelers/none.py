"""No generation: the rows pass on with the model's own predictions, which are not trained on."""

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import settings


@settings
class NoLabels(Labeler):
    def label(self, step: Step, learner: Learner) -> Pseudo:
        return Pseudo(None, Rows(step.X, learner.predict(step.X)))
