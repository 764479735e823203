"""Bayes rule of the tracked mixture instead of a network: h(x) = argmax_c p_t(x, c)."""

from dataclasses import dataclass

from torch import Tensor

from sdsl.algorithms.mixture import Mixture, by_class, log_joint
from sdsl.algorithms.tracked import Tracked
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.learner import Learner
from sdsl.errors import UserError


@dataclass
class MixtureRule(Replay):
    def own_units(self) -> bool:
        return True  # the mixture

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        if not isinstance(pseudo, Tracked):
            raise UserError("replay=mixture needs the mixture of labeler=tracker; choose that one.")
        learner.classifier = BayesRule(pseudo.rules, pseudo.network, learner)
        return {}


class BayesRule:
    """x [S, n, d] to labels [S, n]; the network answers for a replica that is still on hold."""

    def __init__(self, rules: list[Mixture], network: Tensor, learner: Learner):
        self.rules, self.network, self.learner = rules, network, learner

    def __call__(self, x: Tensor) -> Tensor:
        labels = self.learner.probabilities(x).argmax(2)
        for s, rule in enumerate(self.rules):
            if not self.network[s]:
                joint = log_joint(rule, x[s].double())
                labels[s] = by_class(joint, rule.owner, self.learner.classes)[0].argmax(1)
        return labels
