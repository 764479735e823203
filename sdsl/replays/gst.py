"""Gradual self-training (Kumar 2020): a warm, regularised fit on this segment's hard labels alone.

min over theta of mean CE(X_t, y_t) under dropout on f, + l2 ||W||^2; neither gold nor lookback.
A compiled loop, because autograd takes eight times as long.
"""

import math

import numpy as np

from sdsl.core import kernel
from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import adam
from sdsl.core.draws import Batches
from sdsl.core.kernel import Array, Arrays, Buffers, Number, buffers, compiled, zeros
from sdsl.core.learner import Learner
from sdsl.core.network import arrays
from sdsl.core.settings import Positive, Share, Weight, settings


@settings
class Gst(Replay):
    epochs: Positive
    batch: Positive
    lr: Weight  # of Adam
    dropout: Share  # of the last hidden layer
    l2: Weight  # on the weights, not on the biases

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        if not len(pseudo.rows):
            return {"loss_replay": 0.0, "kept": 0.0}
        steps, k, loss = math.ceil(self.epochs * len(step.X) / self.batch), 0, 0.0
        batches = Batches([pseudo.rows], [1.0], steps, self.batch, step.draws)
        theta = arrays(learner.theta)
        index, *rows = arrays([batches.index, batches.X, batches.y, batches.w])
        at, m, v = buffers(theta, self.batch), zeros(theta), zeros(theta)
        for u in step.draws.uniforms(steps, *at.h[-1].shape):  # [some steps, b, m]
            how = self.lr, self.dropout, self.l2, k
            loss = descend(theta, m, v, at, tuple(rows), index[k : k + len(u)], u.numpy(), *how)
            k += len(u)
        return {"loss_replay": float(loss), "kept": len(pseudo.rows) / len(step.X)}


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
    """Steps of Adam; the last one's cross-entropy, before its update."""
    (X, y, w), (h, slopes, grads) = rows, buffers
    last, left, loss = len(theta) - 1, np.float32(1 - dropout), np.float32(0)
    label = np.empty(len(w), np.int64)
    for k in range(len(index)):
        kernel.gather(X, y, index[k], h[0], label)
        for i in range(last):
            kernel.affine(h[i], theta[i], True, h[i + 1])
        for i in range(h[last].shape[0]):
            for j in range(h[last].shape[1]):
                # Units that stay are scaled up for those that are dropped.
                h[last][i, j] = h[last][i, j] / left if u[k, i, j] >= dropout else 0
        kernel.affine(h[last], theta[last], False, slopes[last])
        loss = kernel.cross_entropy(slopes[last], label, w)
        kernel.cross_entropy_slope(slopes[last], label, w)
        kernel.backward(theta, h, slopes, grads, kernel.NO_PULL)
        # The ReLU stops the gradient of a dropped unit; that of the others is scaled, too.
        for i in range(last):
            kernel.add(1 / left - 1, grads[i], grads[i])
        for i in range(len(theta)):
            kernel.add(2 * l2, theta[i][:-1], grads[i][:-1])
        adam(theta, m, v, grads, lr, first + k + 1)
    return loss
