"""Gold's own rule f, network or mixture by cross-validation, and the tests of whether it holds.

Hold is left where gold and X_t differ: p = 2 min(p of all rows, p class by class), gold's classes
being f's out-of-fold labels and X_t's those of f.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.algorithms.energy_test import p_value
from sdsl.algorithms.gold_folds import FOLDS, out_of_fold
from sdsl.algorithms.gold_mixture import gold_mixture
from sdsl.algorithms.mixture import Mixture, by_class, log_joint
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.training import Training

MOST = 250  # rows a side of a test


@dataclass(frozen=True)
class GoldRule:
    theta: list[Tensor]  # the networks of all replicas as gold made them
    gold: Mixture  # one component a class
    own: Tensor  # [n] out-of-fold labels of gold
    by_network: bool

    def network(self, X: Tensor, learner: Learner) -> Tensor:
        """Class posteriors [S, n, C] of the networks; the learner lends its shape."""
        now = learner.copy()
        learner.load(self.theta)
        f = learner.probabilities(X).double()
        learner.load(now)
        return f

    def mixture(self, X: Tensor, classes: int) -> Tensor:
        """Class posteriors [n, C] of gold's mixture."""
        return by_class(log_joint(self.gold, X), self.gold.owner, classes)[0].softmax(1)


def gold_rules(
    gold: Rows,
    plans: list[tuple[str, Mixture]],
    floor: float,
    how: Training,
    learner: Learner,
    draws: Draws,
) -> list[GoldRule]:
    """A rule a replica; plans: (covariance form, gold's simplest mixture) of each."""
    theta, network = learner.copy(), out_of_fold(gold, learner, how, draws)
    rules = []
    for s, (form, mix) in enumerate(plans):
        X, y = gold.replica(s)
        by_net, by_mix, X = network[s, : len(y)], torch.zeros_like(y), X.double()
        for fold in range(FOLDS):
            out = torch.arange(len(y)) % FOLDS == fold
            if out.all() or not out.any():
                continue
            one = [1] * learner.classes
            part = gold_mixture(X[~out], y[~out], one, len(one), form, floor, draws.generators[s])
            by_mix[out] = by_class(log_joint(part, X[out]), part.owner, len(one))[0].argmax(1)
        gain = (by_mix == y).double() - (by_net == y).double()
        # Only a clear gain: the network is what a model that never adapts would use.
        better = bool(gain.mean() > gain.std(correction=0) / len(y) ** 0.5)
        rules.append(GoldRule(theta, mix, by_mix if better else by_net, not better))
    return rules


def drift(
    gold: Tensor, X: Tensor, rule: GoldRule, f: Tensor | None, generator: torch.Generator
) -> float:
    """p that gold and X are of one distribution; with posteriors f [n, C] also class by class."""
    a, b = evenly(len(gold)), evenly(len(X))
    whole = torch.zeros(len(a) + len(b), dtype=torch.long)
    p = p_value(gold[a], X[b], whole[: len(a)], whole[len(a) :], generator)
    if f is None:
        return p
    return min(1.0, 2 * min(p, p_value(gold[a], X[b], rule.own[a], f.argmax(1)[b], generator)))


def evenly(n: int) -> Tensor:
    """At most MOST row numbers, spread over all."""
    return torch.linspace(0, n - 1, min(n, MOST)).round().long()


def returns(f: Tensor, y: Tensor, classes: int) -> bool:
    """Whether most rows of every class of f are the tracker's of that class: no swap, no merge."""
    table = torch.zeros(classes, classes).index_put_((f, y), torch.ones(()), accumulate=True)
    return bool((2 * table.diagonal() >= table.sum(1)).all())
