"""DANN (Ganin et al., JMLR 2016): min_{f,g} max_dom CE(g(f(D))) - lambda BCE(dom(f(.)), D | X_t).

The min-max is one descent through a gradient reversal: identity forward, times -lambda backward.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.fields import number
from sdsl.core.learner import Learner
from sdsl.core.network import (
    Theta,
    backward,
    cross_entropy,
    cross_entropy_slope,
    forward,
    layer_gradient,
    output_slopes,
    trace,
)
from sdsl.core.replica import Batches, Draws, Rows
from sdsl.core.training import Sgd


def reversal(p: float) -> float:
    """lambda(p) = 2 / (1 + exp(-10 p)) - 1: the domain head first learns, then is fooled."""
    return 2 / (1 + math.exp(-10 * p)) - 1


def annealed(p: float) -> float:
    """The learning rate's share at progress p: (1 + 10 p)^-0.75."""
    return (1 + 10 * p) ** -0.75


@dataclass
class Adversarial(Replay):
    steps: int = number(low=1)
    batch: int = number(low=1)  # rows a side: D is the source, X_t and D_{t-1} the target
    lr: float = number(low=0)
    momentum: float = number(low=0, high=1)
    strength: float = number(low=0)  # lambda at the end of a step; 0: no adaptation
    width: int = number(low=1)  # of the domain head's hidden layer

    @torch.no_grad()
    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        target = pool(step.X, step.lookback)
        head = domain_head(learner.sizes[-2], self.width, step.draws)
        optimizer = Sgd([*learner.theta, *head], self.momentum)
        sets = Batches([step.gold, target], [1.0, 0.0], self.steps, self.batch, step.draws)
        for k, (x, y, w) in enumerate(sets):
            p = k / self.steps  # progress within this t
            inputs, logits = trace(x, learner.theta)
            slope = cross_entropy_slope(logits, y, w)
            domain_logits, pull, grads = domain_gradient(inputs[-1], head)
            pull *= -self.strength * reversal(p)  # what helps the domain head hurts the features
            steps = [*backward(inputs, slope, learner.theta, pull), *grads]
            optimizer.step(steps, self.lr * annealed(p))
        return {
            "loss_replay": cross_entropy(logits, y, w),
            "loss_domain": cross_entropy(domain_logits, *domains(x)),
            "domain_acc": domain_accuracy(step.gold, target, learner, head),
        }


def pool(X: Tensor, lookback: Rows) -> Rows:
    """X_t and the stored rows as one unlabelled set: the stored pseudo-labels are dropped here."""
    return Rows.unlabelled(torch.cat([X, lookback.X], 1), X.shape[1] + lookback.count)


def domain_head(features: int, width: int, draws: Draws) -> Theta:
    """A fresh random classifier m -> width -> 1, initialised as the learner is.

    Its last layer holds a second, idle column: torch multiplies by a single one along another path
    (gemv) whose bits depend on S.
    """
    hidden, out = draws.uniform(features + 1, width), draws.uniform(width + 1, 2)
    return [(2 * hidden - 1) / math.sqrt(features), (2 * out - 1) / math.sqrt(width)]


def domain_logit(f: Tensor, head: Theta) -> Tensor:
    """log odds of "from X_t": [S, n, m] to [S, n]."""
    return forward(f, head)[1][:, :, 0]


def domains(x: Tensor) -> tuple[Tensor, Tensor]:
    """(side, weight) of a batch's rows [S, 2b]: D, the first half, is 1 and X_t 0."""
    side = (torch.arange(x.shape[1]) < x.shape[1] // 2).long()
    return side.expand(x.shape[:2]), torch.full(x.shape[:2], 1 / x.shape[1])


def domain_gradient(f: Tensor, head: Theta) -> tuple[Tensor, Tensor, list[Tensor]]:
    """(logits, d BCE / d features [S, 2b, m], d BCE / d head) of the domain head on a batch."""
    inputs, logits = trace(f, head)
    logits[:, :, 1] = 0  # BCE(u) is the cross-entropy of (u, 0), X_t the first class, D the second
    slope = cross_entropy_slope(logits, *domains(f))
    slope[:, :, 1] = 0  # the idle column
    slopes = output_slopes(inputs, slope, head)
    grads = [layer_gradient(h, s) for h, s in zip(inputs, slopes, strict=True)]
    return logits, torch.bmm(slopes[0], head[0][:, :-1].mT), grads


@torch.no_grad()
def domain_accuracy(source: Rows, target: Rows, learner: Learner, head: Theta) -> Tensor:
    """Balanced accuracy of the domain head [S]; 0.5: it cannot tell D from X_t."""

    def share(rows: Rows, side: int) -> Tensor:
        says_target = domain_logit(learner.features(rows.X), head) > 0
        hit = (says_target == bool(side)) & rows.mask
        return hit.sum(1) / rows.count.clamp(min=1)

    return (share(source, 0) + share(target, 1)) / 2
