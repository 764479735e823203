"""DANN (Ganin et al., JMLR 2016): min_{f,g} max_dom CE(g(f(D))) - lambda BCE(dom(f(.)), D | X_t).

The min-max is one descent through a gradient reversal: identity forward, times -lambda backward.
"""

import math

import numpy as np
import torch

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import sgd
from sdsl.core.draws import Batches, Draws
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    Number,
    add,
    backward,
    buffers,
    compiled,
    copy,
    cross_entropy,
    cross_entropy_slope,
    gather,
    trace,
    zeros,
)
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, arrays, scores
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, Share, Weight, settings


def reversal(p: float) -> float:
    """lambda(p) = 2 / (1 + exp(-10 p)) - 1: the domain head first learns, then is fooled."""
    return 2 / (1 + math.exp(-10 * p)) - 1


def annealed(p: float) -> float:
    """The learning rate's share at progress p: (1 + 10 p)^-0.75."""
    return (1 + 10 * p) ** -0.75


@settings
class Adversarial(Replay):
    steps: Positive
    batch: Positive  # rows a side: D is the source, X_t and D_{t-1} the target
    lr: Weight
    momentum: Share
    strength: Weight  # lambda at the end of a step; 0: no adaptation
    width: Positive  # of the domain head's hidden layer

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        # The stored pseudo-labels are dropped here.
        target = Rows.unlabelled(torch.cat([step.X, step.lookback.X]))
        head = domain_head(learner.sizes[-2], self.width, step.draws)
        batches = Batches([step.gold, target], [1.0, 0.0], self.steps, self.batch, step.draws)
        progress = [k / self.steps for k in range(self.steps)]  # within this t
        rates = np.array([self.lr * annealed(p) for p in progress])
        reversed_by = np.array([-self.strength * reversal(p) for p in progress])
        nets = arrays(learner.theta), arrays(head)
        momenta = tuple(zeros(net) for net in nets)
        at = tuple(buffers(net, batches.shape[0]) for net in nets)
        index, *rows = arrays([batches.index, batches.X, batches.y, batches.w])
        how = rates, reversed_by, self.momentum
        loss, domain = descend(*nets, *momenta, *at, tuple(rows), index, *how)
        # Balanced accuracy of the domain head; 0.5: it cannot tell D from X_t.
        on_gold, on_target = (
            float((scores(learner.features(X), head) > 0).float().mean())
            for X in (step.gold.X, target.X)
        )
        accuracy = (1 - on_gold + on_target) / 2
        return {"loss_replay": loss, "loss_domain": domain, "domain_acc": accuracy}


def domain_head(features: int, width: int, draws: Draws) -> Theta:
    """A new random classifier m -> width -> 1, initialised as the learner is."""
    hidden, out = draws.uniform(features + 1, width), draws.uniform(width + 1, 1)
    return [(2 * hidden - 1) / math.sqrt(features), (2 * out - 1) / math.sqrt(width)]


@compiled
def domain_loss(logits: Array) -> Number:
    """BCE of a batch [2b, 1], D its first half, X_t the second; its slope in the logits' place."""
    n, loss = len(logits), np.float32(0)
    for i in range(n):
        sign = np.float32(-1 if i < n // 2 else 1)  # X_t is to have a high logit
        u = sign * logits[i, 0]
        loss += (np.log1p(np.exp(-abs(u))) + max(-u, np.float32(0))) / n
        logits[i, 0] = -sign / (1 + np.exp(u)) / n
    return loss


# Compiled: through autograd a step takes nine times as long, and the paper's sweep 2.6 times.
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
) -> tuple[float, float]:
    """Steps of both nets, in place; the last one's losses, before its update."""
    X, y, w = rows
    last, loss, domain = len(theta) - 1, np.float32(0), np.float32(0)
    logits, label = buffers.slopes[last], np.empty(len(w), np.int64)
    pull = np.empty_like(buffers.h[last])  # d BCE / d features [2b, m]
    for k in range(len(index)):
        gather(X, y, index[k], buffers.h[0], label)
        trace(theta, buffers.h, logits)
        loss = cross_entropy(logits, label, w)
        cross_entropy_slope(logits, label, w)
        copy(buffers.h[last], of_head.h[0])
        trace(head, of_head.h, of_head.slopes[1])
        domain = domain_loss(of_head.slopes[1])
        backward(head, of_head.h, of_head.slopes, of_head.grads, NO_PULL)
        # A step that helps the domain head hurts the features.
        np.dot(of_head.slopes[0], head[0][:-1].T, pull)
        add(reversed_by[k] - 1, pull, pull)
        backward(theta, buffers.h, buffers.slopes, buffers.grads, pull)
        sgd(theta, m, buffers.grads, rates[k], momentum)
        sgd(head, m_head, of_head.grads, rates[k], momentum)
    return float(loss), float(domain)
