"""Gradient steps on L_total = CE(D) + CE(D_{t-1}) + CE(X_t, y) + R(U) (paper Eq. 8), S replicas.

R(U), how far the prototypes stray from the label semantics, pulls on the features f(x) of X_t:
dR/du_y is shared among the rows of class y.
"""

import numpy as np
import torch
from torch import Tensor

from sdsl.algorithms.semantics import Semantics, class_means
from sdsl.core.compiled import compiled
from sdsl.core.descent import adam, sgd
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    add,
    backward,
    buffers,
    cross_entropy,
    cross_entropy_slope,
    gather,
    trace,
    zeros,
)
from sdsl.core.learner import Learner
from sdsl.core.network import arrays
from sdsl.core.network import backward as gradient
from sdsl.core.network import trace as traced
from sdsl.core.replica import Batches, take
from sdsl.core.training import Training


class Feedback:
    """A phase of rounds; each goes on where the last one's batches, momentum and rate ended."""

    def __init__(self, learner: Learner, how: Training, batches: Batches, widths: list[int]):
        self.learner, self.how, self.batches, self.updates = learner, how, batches, 0
        self.widths = np.cumsum([0, *widths])  # where in a batch each set begins, and the end
        S = range(len(batches.X))
        self.theta = [arrays(learner.theta, s) for s in S]
        self.rows = [arrays([batches.X, batches.y, batches.w], s) for s in S]  # y may change
        self.m = [zeros(theta) for theta in self.theta]
        adaptive = how.optimizer == "adam"
        self.v = [zeros(theta) if adaptive else () for theta in self.theta]
        self.buffers = buffers(self.theta[0], batches.shape[0])

    def round(
        self, running: Tensor, X: Tensor, y: Tensor, semantics: Semantics, weight: float
    ) -> Tensor:
        """The steps of a round, for replicas that are running [S]; the last one's terms [S, 4]."""
        terms = torch.zeros(len(running), 4)
        pulled = semantics.active and weight > 0  # at every step anew, so one at a time
        for n in [1] * self.how.steps if pulled else [self.how.steps]:
            first, pulls = self.updates, None
            rates = np.array([self.how.rate(first + k) for k in range(n)])
            if pulled:
                terms[:, 3], pulls = semantic_gradient(self.learner, X, y, semantics, weight)
            for s in running.nonzero().flatten().tolist():
                index = self.batches.index[s]
                batch = index[first : first + n] if self.how.batch else index.expand(n, -1)
                one = self.theta[s], self.m[s], self.v[s], arrays(pulls, s) if pulls else ()
                rows = *self.rows[s], self.widths, batch.numpy()
                found = descend(*one, self.buffers, *rows, rates, self.how.momentum, first)
                terms[s, :3] = torch.from_numpy(found)
            self.updates += n
        return terms


def semantic_gradient(
    learner: Learner, X: Tensor, y: Tensor, semantics: Semantics, weight: float
) -> tuple[Tensor, list[Tensor]]:
    """(weight R(U) [S], its gradient)."""
    inputs, logits = traced(X, learner.theta)
    U, size = class_means(inputs[-1], y, learner.classes)
    penalty, up = semantics.penalty(U)
    per_row = weight * take(up / size.clamp(min=1), y)  # an empty class has no rows
    return weight * penalty, gradient(inputs, torch.zeros_like(logits), learner.theta, per_row)


@compiled
def descend(
    theta: Arrays,
    m: Arrays,
    v: Arrays,  # empty for SGD
    pull: Arrays,  # a gradient to be added to the batch's, or empty
    buffers: Buffers,
    X: Array,  # [n, d]
    y: Array,  # [n]
    w: Array,  # [b]
    widths: Array,  # where in a batch each of the three sets begins, and the end
    index: Array,  # [steps, b] into the rows
    rates: Array,  # [steps]
    momentum: float,
    first: int,  # steps taken before these
) -> Array:
    """One replica; the cross-entropies of the last batch's three sets, before its update."""
    h, slopes, grads = buffers
    last, terms = len(theta) - 1, np.zeros(3, np.float32)
    label = np.empty(len(w), np.int64)
    for k in range(len(rates)):
        gather(X, y, index[k], h[0], label)
        trace(theta, h, slopes[last])
        if k == len(rates) - 1:
            for i in range(3):
                a, b = widths[i], widths[i + 1]
                terms[i] = cross_entropy(slopes[last][a:b], label[a:b], w[a:b])
        cross_entropy_slope(slopes[last], label, w)
        backward(theta, h, slopes, grads, NO_PULL)
        if len(pull):
            for i in range(len(pull)):
                add(1, pull[i], grads[i])
        if len(v):
            adam(theta, m, v, grads, rates[k], first + k + 1)
        else:
            sgd(theta, m, grads, rates[k], momentum)
    return terms
