"""DANN (Ganin et al., JMLR 2016): min_{f,g} max_dom CE(g(f(D))) - lambda BCE(dom(f(.)), D | X_t).

The min-max is one descent through a gradient reversal: identity forward, times -lambda backward.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.core.compiled import compiled
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.descent import sgd
from sdsl.core.fields import number
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    Number,
    add,
    backward,
    buffers,
    copy,
    cross_entropy,
    cross_entropy_slope,
    gather,
    trace,
    zeros,
)
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, arrays, scores
from sdsl.core.replica import Batches, Draws, Rows


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

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        target = pool(step.X, step.lookback)
        head = domain_head(learner.sizes[-2], self.width, step.draws)
        batches = Batches([step.gold, target], [1.0, 0.0], self.steps, self.batch, step.draws)
        progress = [k / self.steps for k in range(self.steps)]  # within this t
        rates = np.array([self.lr * annealed(p) for p in progress])
        reversed_by = np.array([-self.strength * reversal(p) for p in progress])
        found = []
        for s in range(len(step.X)):
            nets = arrays(learner.theta, s), arrays(head, s)
            index, *rows = arrays([batches.index, batches.X, batches.y, batches.w], s)
            at = (buffers(net, batches.shape[0]) for net in nets)
            m = (zeros(net) for net in nets)
            how = rates, reversed_by, self.momentum
            found.append(descend(*nets, *m, *at, tuple(rows), index, *how))
        loss, domain = torch.tensor(found).T
        accuracy = domain_accuracy(step.gold, target, learner, head)
        return {"loss_replay": loss, "loss_domain": domain, "domain_acc": accuracy}


def pool(X: Tensor, lookback: Rows) -> Rows:
    """X_t and the stored rows as one unlabelled set: the stored pseudo-labels are dropped here."""
    return Rows.unlabelled(torch.cat([X, lookback.X], 1), X.shape[1] + lookback.count)


def domain_head(features: int, width: int, draws: Draws) -> Theta:
    """A fresh random classifier m -> width -> 1, initialised as the learner is."""
    hidden, out = draws.uniform(features + 1, width), draws.uniform(width + 1, 1)
    return [(2 * hidden - 1) / math.sqrt(features), (2 * out - 1) / math.sqrt(width)]


def domain_logit(f: Tensor, head: Theta) -> Tensor:
    """log odds of "from X_t": [S, n, m] to [S, n]."""
    return scores(f, head)[:, :, 0]


@compiled
def domain_loss(logits: Array) -> Number:
    """BCE of a batch [2b, 1], D its first half, X_t the second."""
    n, loss = len(logits), np.float32(0)
    for i in range(n):
        u = np.float32(-1 if i < n // 2 else 1) * logits[i, 0]  # X_t is to have a high logit
        loss += (np.log1p(np.exp(-abs(u))) + max(-u, np.float32(0))) / n
    return loss


@compiled
def domain_slope(logits: Array) -> None:
    """Its slope in the logits' place."""
    n = len(logits)
    for i in range(n):
        sign = np.float32(-1 if i < n // 2 else 1)
        logits[i, 0] = -sign / (1 + np.exp(sign * logits[i, 0])) / n


@compiled
def descend(
    theta: Arrays,
    head: Arrays,
    m: Arrays,
    m_head: Arrays,
    buffers: Buffers,
    of_head: Buffers,
    rows: tuple[Array, Array, Array],  # X [n, d], y [n], w [2b]
    index: Array,  # [steps, 2b] into the rows
    rates: Array,  # [steps]
    reversed_by: Array,  # [steps]: -lambda
    momentum: float,
) -> tuple[Number, Number]:
    """Steps of both nets on one replica; the last one's losses, before its update."""
    X, y, w = rows
    last, loss, domain = len(theta) - 1, np.float32(0), np.float32(0)
    logits, label = buffers.slopes[last], np.empty(len(w), np.int64)
    pull = np.empty_like(buffers.h[last])
    for k in range(len(index)):
        gather(X, y, index[k], buffers.h[0], label)
        trace(theta, buffers.h, logits)
        final = k == len(index) - 1  # whose losses are reported
        loss = cross_entropy(logits, label, w) if final else loss
        cross_entropy_slope(logits, label, w)
        copy(buffers.h[last], of_head.h[0])
        trace(head, of_head.h, of_head.slopes[1])
        domain = domain_loss(of_head.slopes[1]) if final else domain
        domain_slope(of_head.slopes[1])
        backward(head, of_head.h, of_head.slopes, of_head.grads, NO_PULL)
        # What helps the domain head hurts the features.
        np.dot(of_head.slopes[0], head[0][:-1].T, pull)
        add(reversed_by[k] - 1, pull, pull)
        backward(theta, buffers.h, buffers.slopes, buffers.grads, pull)
        sgd(theta, m, buffers.grads, rates[k], momentum)
        sgd(head, m_head, of_head.grads, rates[k], momentum)
    return loss, domain


@torch.no_grad()
def domain_accuracy(source: Rows, target: Rows, learner: Learner, head: Theta) -> Tensor:
    """Balanced accuracy of the domain head [S]; 0.5: it cannot tell D from X_t."""

    def share(rows: Rows, side: int) -> Tensor:
        says_target = domain_logit(learner.features(rows.X), head) > 0
        hit = (says_target == bool(side)) & rows.mask
        return hit.sum(1) / rows.count.clamp(min=1)

    return (share(source, 0) + share(target, 1)) / 2
