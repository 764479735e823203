"""Full-batch SGD on few rows of many features (RECORD on Spam), compiled, for one replica.

The first layer W only ever moves within the span of the rows: W = W_0 + [x 1]^T a, and a descends
along d loss / d [x 1] W itself, so with G = [x 1] [x 1]^T a step costs n and not d rows of it:
[x 1] W = [x 1] W_0 + G a.
"""

import numpy as np

from sdsl.core.compiled import compiled
from sdsl.core.descent import sgd
from sdsl.core.kernel import (
    Array,
    Arrays,
    Buffers,
    affine,
    buffers,
    cross_entropy,
    cross_entropy_slope,
    layer_gradient,
    through_relu,
    zeros,
)


def fit_in_span(
    theta: Arrays, X: Array, y: Array, w: Array, rates: Array, momentum: float
) -> float:
    """Steps on X [n, d], y [n] with weights w [n], in place; the last one's cross-entropy."""
    at = buffers(theta, len(X))
    a = np.zeros_like(at.slopes[0])  # [n, out]
    start, net = np.empty_like(a), (a, *theta[1:])
    affine(X, theta[0], False, start)
    gram = X @ X.T + np.float32(1)
    at = at._replace(grads=(at.slopes[0], *at.grads[1:]))  # d loss / d a, in effect
    loss: float = descend(net, zeros(net), at, gram, start, y, w, rates, momentum)
    theta[0][:-1] += X.T @ a
    theta[0][-1] += a.sum(0)
    return loss


@compiled
def descend(
    net: Arrays,  # a [n, out], then the other layers
    m: Arrays,
    buffers: Buffers,
    gram: Array,  # [n, n]
    start: Array,  # [x 1] W_0 [n, out]
    y: Array,
    w: Array,
    rates: Array,  # [steps]
    momentum: float,
) -> float:
    h, slopes, grads = buffers
    last, loss = len(net) - 1, np.float32(0)
    for k in range(len(rates)):
        first = h[1]
        np.dot(gram, net[0], first)
        for i in range(first.shape[0]):
            for j in range(first.shape[1]):
                z = first[i, j] + start[i, j]
                first[i, j] = np.float32(0) if z <= 0 else z
        for i in range(1, last):
            affine(h[i], net[i], True, h[i + 1])
        affine(h[last], net[last], False, slopes[last])
        if k == len(rates) - 1:
            loss = cross_entropy(slopes[last], y, w)
        cross_entropy_slope(slopes[last], y, w)
        for i in range(last, 0, -1):
            layer_gradient(h[i], slopes[i], grads[i])
            np.dot(slopes[i], net[i][:-1].T, slopes[i - 1])
            through_relu(slopes[i - 1], h[i])
        sgd(net, m, grads, rates[k], momentum)
    return float(loss)
