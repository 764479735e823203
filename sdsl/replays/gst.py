"""Gradual self-training (Kumar 2020): a warm, regularised fit on this segment's hard labels alone.

min over theta of mean CE(X_t, y_t) under dropout on f, + l2 ||W||^2; neither gold nor lookback.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch

from sdsl.core.compiled import compiled
from sdsl.core.contract import Pseudo, Replay, Step
from sdsl.core.descent import adam
from sdsl.core.fields import number
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    Number,
    add,
    affine,
    backward,
    buffers,
    cross_entropy,
    cross_entropy_slope,
    gather,
    zeros,
)
from sdsl.core.learner import Learner
from sdsl.core.network import arrays
from sdsl.core.replica import Batches


@dataclass
class Gst(Replay):
    epochs: int = number(low=1)
    batch: int = number(low=1)
    lr: float = number(low=0)
    dropout: float = number(low=0, high=0.99)  # of the last hidden layer
    l2: float = number(low=0)  # on the weights, not on the biases

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> dict:
        rows = pseudo.rows
        # Epochs of the whole segment: what is kept differs between replicas, steps must not.
        steps = math.ceil(self.epochs * step.X.shape[1] / self.batch)
        batches = Batches([rows], [1.0], steps, self.batch, step.draws)
        found = []
        for s in range(len(step.X)):
            theta = arrays(learner.theta, s)
            index, *one = arrays([batches.index, batches.X, batches.y, batches.w], s)
            at, m, v, k = buffers(theta, self.batch), zeros(theta), zeros(theta), 0
            for u in step.draws.uniforms(s, steps, *at.h[-1].shape):  # [some steps, b, m]
                how = self.lr, self.dropout, self.l2, k
                now = index[k : k + len(u)]
                loss = descend(theta, m, v, at, tuple(one), now, u.numpy(), *how)
                k += len(u)
            found.append(loss)
        return {"loss_replay": torch.tensor(found), "kept": rows.count / step.X.shape[1]}


@compiled
def descend(
    theta: Arrays,
    m: Arrays,
    v: Arrays,
    buffers: Buffers,
    rows: tuple[Array, Array, Array],  # X [n, d], y [n], w [b]
    index: Array,  # [steps, b] into the rows
    u: Array,  # [steps, b, m], uniform: a unit is dropped where it is below `dropout`
    lr: float,
    dropout: float,
    l2: float,
    first: int,  # steps taken before these
) -> Number:
    """Steps of Adam on one replica; the last one's cross-entropy, before its update."""
    (X, y, w), (h, slopes, grads) = rows, buffers
    last, left, loss = len(theta) - 1, np.float32(1 - dropout), np.float32(0)
    label = np.empty(len(w), np.int64)
    for k in range(len(index)):
        gather(X, y, index[k], h[0], label)
        for i in range(last):
            affine(h[i], theta[i], True, h[i + 1])
        for i in range(h[last].shape[0]):
            for j in range(h[last].shape[1]):
                # What stays makes up for what is dropped.
                h[last][i, j] = h[last][i, j] / left if u[k, i, j] >= dropout else 0
        affine(h[last], theta[last], False, slopes[last])
        loss = cross_entropy(slopes[last], label, w)
        cross_entropy_slope(slopes[last], label, w)
        backward(theta, h, slopes, grads, NO_PULL)
        # The ReLU lets nothing through where a unit was dropped; the others make up for it.
        for i in range(last):
            add(1 / left - 1, grads[i], grads[i])
        for i in range(len(theta)):
            add(2 * l2, theta[i][:-1], grads[i][:-1])
        adam(theta, m, v, grads, lr, first + k + 1)
    return loss
