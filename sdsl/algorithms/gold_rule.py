"""Gold's own rule f, network or mixture by cross-validation, and the tests of whether it holds.

Hold is left where gold and X_t differ: p = 3 min(p of all rows, p class by class, p of likelihood).
The first two are energy tests. Their classes are labels by rules of three quarters of gold: gold's
out-of-fold labels, and rows of X_t by turns. (f gives better labels than those out-of-fold ones, so
classes that overlap would seem to have moved.)
The third is a Mann-Whitney test of whether X_t's rows are less likely than gold's under mixtures
that have not seen them; it sees turns of a symmetric picture, to which energy is nearly blind.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from sdsl.algorithms.energy_test import distances, p_value
from sdsl.algorithms.gold_folds import FOLDS, by_turns, out_of_fold
from sdsl.algorithms.gold_mixture import gold_mixture, parts_of
from sdsl.algorithms.mixture import Mixture, by_class, log_density, log_joint
from sdsl.algorithms.registration import smear, whitened
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows
from sdsl.core.training import Training

CLEARLY = 2  # standard errors by which the mixture must be ahead of the network
SIMPLE = 0.3  # nats a row by which fewer components may be behind
MORE = 0.1  # nats a row by which more components must be ahead
WORST = -1e3  # a row's log density counts no less
MOST = 250  # rows a side of a test


@dataclass(frozen=True)
class GoldRule:
    theta: list[Tensor]  # the networks of all replicas as gold made them
    nets: list[list[Tensor]]  # those of three quarters of gold
    folds: list[Mixture]  # this replica's mixtures of three quarters
    gold: Mixture  # the best of gold's mixtures
    own: Tensor  # [n] out-of-fold labels of gold
    by_network: bool
    usual: Tensor  # [n] log p of gold's rows under such mixtures that have not seen them
    turn: float  # within the gold segment, as far as the shapes of its classes show one

    def network(self, X: Tensor, learner: Learner) -> Tensor:
        """Class posteriors [S, n, C] of the networks; the learner lends its shape."""
        now = learner.copy()
        learner.load(self.theta)
        f = learner.probabilities(X).double()
        learner.load(now)
        return f

    def peers(self, X: Tensor, learner: Learner) -> Tensor:
        """Labels [S, n] of rows X [S, n, d] as the networks of the folds give them to gold."""
        return by_turns(X, self.nets, learner)

    def own_of(self, X: Tensor, classes: int) -> Tensor:
        """The same by this replica's mixtures: [n]."""
        y = torch.zeros(len(X), dtype=torch.long)
        for fold, mix in enumerate(self.folds):
            rows = X[fold :: len(self.folds)]
            y[fold :: len(self.folds)] = by_class(log_joint(mix, rows), mix.owner, classes)[
                0
            ].argmax(1)
        return y

    def mixture(self, X: Tensor, classes: int) -> Tensor:
        """Class posteriors [n, C] of gold's mixture."""
        return by_class(log_joint(self.gold, X), self.gold.owner, classes)[0].softmax(1)


@dataclass(frozen=True)
class LeftOut:
    """What mixtures of three quarters of gold make of the quarter that they have not seen."""

    own: Tensor  # [n] labels
    usual: Tensor  # [n] log p
    folds: list[Mixture]

    @property
    def score(self) -> float:
        return float(self.usual.clamp(min=WORST).mean())


def left_out(
    X: Tensor,
    y: Tensor,
    k: int,
    form: str,
    floor: float,
    classes: int,
    generator: torch.Generator,
) -> LeftOut:
    """Cross-validation of k components a class on gold rows X [n, d] with labels y [n]."""
    own, usual, folds = torch.zeros_like(y), X.new_zeros(len(y)), list[Mixture]()
    for fold in range(FOLDS):
        out = torch.arange(len(y)) % FOLDS == fold
        if out.all() or not out.any():
            continue
        parts = parts_of(y[~out], k, X.shape[1], classes)
        part = gold_mixture(X[~out], y[~out], parts, sum(parts), form, floor, generator)
        joint = by_class(log_joint(part, X[out]), part.owner, classes)[0]
        own[out], usual[out] = joint.argmax(1), joint.logsumexp(1)
        folds.append(part)
    return LeftOut(own, usual, folds)


def needed(tried: Mapping[int, LeftOut], always: Sequence[int]) -> list[int]:
    """Components a class that are worth a member: some always, others where gold shows it.

    It does where each left-out row is likelier by MORE than with fewer, and clearly so.
    """
    kept: list[int] = []
    for k in sorted(tried):
        fewer = [tried[j] for j in kept]
        if k in always or all(clearly_likelier(tried[k], other) for other in fewer):
            kept.append(k)
    return kept


def clearly_likelier(a: LeftOut, b: LeftOut) -> bool:
    gain = a.usual.clamp(min=WORST) - b.usual.clamp(min=WORST)
    mean, error = gain.mean(), gain.std(correction=0) / len(gain) ** 0.5
    return bool(mean > max(MORE, CLEARLY * float(error)))


def gold_rules(
    gold: Rows,
    plans: Sequence[tuple[str, Mapping[int, Mixture], Mapping[int, LeftOut]]],
    how: Training,
    learner: Learner,
    draws: Draws,
) -> list[GoldRule]:
    """A rule a replica; plans: (covariance form, gold's mixtures by components, their folds)."""
    theta, (network, nets) = learner.copy(), out_of_fold(gold, learner, how, draws)
    rules = []
    for s, (form, mixtures, tried) in enumerate(plans):
        _, y = gold.replica(s)
        rule = mixture_rule(form, mixtures, tried)
        by_net, by_mix = network[s, : len(y)], rule.own
        gain = (by_mix == y).double() - (by_net == y).double()
        # Only a clear gain: the network is what a model that never adapts would use.
        if not bool(gain.mean() > CLEARLY * gain.std(correction=0) / len(y) ** 0.5):
            rule = replace(rule, own=by_net, by_network=True)
        rules.append(replace(rule, theta=theta, nets=nets))
    return rules


def mixture_rule(
    form: str, mixtures: Mapping[int, Mixture], tried: Mapping[int, LeftOut]
) -> GoldRule:
    """The rule of the mixture of gold that foresees left-out rows best."""
    score = {k: tried[k].score for k in mixtures}
    best = max(mixtures, key=lambda k: (score[k], -k))
    # Parts of one arc are no modes of their own: how it is smeared shows where it is whole.
    simple = mixtures[min(k for k in mixtures if score[k] >= score[best] - SIMPLE)]
    of = tried[best]
    turn = smear(whitened(simple)[0], len(of.own)) if form == "full" else 0.0
    return GoldRule([], [], of.folds, mixtures[best], of.own, False, of.usual, turn)


def unlikely(rule: GoldRule, X: Tensor) -> float:
    """p that rows X are as likely as gold's under gold's mixture, or likelier (Mann-Whitney)."""
    new = log_density(rule.gold, X)[0]
    n, m = len(rule.usual), len(new)
    order = torch.cat([rule.usual, new]).argsort(stable=True)
    U = (order >= n).nonzero().double().sum() - m * (m - 1) / 2
    z = (U - n * m / 2) / math.sqrt(n * m * (n + m + 1) / 12)
    return float(torch.special.ndtr(z))


def drift(
    gold: Tensor,
    X: Tensor,
    rule: GoldRule,
    y: Tensor | None,
    low: float,
    limit: float,
    generator: torch.Generator,
) -> float:
    """p that gold and X are of one distribution; with labels y [n] also class by class.

    low: the p of `unlikely`. Where it alone brings p below `limit`, the energy tests are left out:
    they could only lower it.
    """
    tests, p = 2 if y is None else 3, low
    if tests * p >= limit:
        a, b = evenly(len(gold)), evenly(len(X))
        whole = torch.zeros(len(a) + len(b), dtype=torch.long)
        far = distances(gold[a], X[b])
        near = 0.0 if y is None else limit / tests  # whether hold returns is no matter of tails
        p = min(p, p_value(far, whole[: len(a)], whole[len(a) :], generator, near))
        if y is not None:
            p = min(p, p_value(far, rule.own[a], y[b], generator, near))
    return min(1.0, tests * p)


def evenly(n: int) -> Tensor:
    """At most MOST row numbers, spread over all."""
    return torch.linspace(0, n - 1, min(n, MOST)).round().long()


def returns(f: Tensor, y: Tensor, classes: int) -> bool:
    """Whether most rows of every class of f are the tracker's of that class: no swap, no merge."""
    table = torch.zeros(classes, classes).index_put_((f, y), torch.ones(()), accumulate=True)
    return bool((2 * table.diagonal() >= table.sum(1)).all())
