"""Steps of descent in compiled loops: SGD, Adam, a mean-teacher fit, a fit on few rows.

SGD: m <- momentum m + g, theta <- theta - lr m.  Adam: Kingma and Ba, 2015.
"""

import numpy as np

from sdsl.core import kernel
from sdsl.core.kernel import NO_PULL, Array, Arrays, Buffers, Number, buffers, compiled, zeros


@compiled
def sgd(theta: Arrays, m: Arrays, grads: Arrays, lr: Number, momentum: Number) -> None:
    lr, momentum = np.float32(lr), np.float32(momentum)
    for i in range(len(theta)):
        p, a, g = theta[i], m[i], grads[i]
        for j in range(p.shape[0]):
            for k in range(p.shape[1]):
                a[j, k] = momentum * a[j, k] + g[j, k]
                p[j, k] -= lr * a[j, k]


@compiled
def adam(theta: Arrays, m: Arrays, v: Arrays, grads: Arrays, lr: float, step: int) -> None:
    """At step 1, 2, ...: along the gradient's moving mean over the root of its moving square."""
    b1, b2 = np.float32(0.9), np.float32(0.999)
    unbias = np.sqrt(1 - 0.999**step)
    rate, eps = np.float32(lr * unbias / (1 - 0.9**step)), np.float32(1e-8 * unbias)
    for i in range(len(theta)):
        p, a, b, g = theta[i], m[i], v[i], grads[i]
        for j in range(p.shape[0]):
            for k in range(p.shape[1]):
                a[j, k] = b1 * a[j, k] + (1 - b1) * g[j, k]
                b[j, k] = b2 * b[j, k] + (1 - b2) * g[j, k] * g[j, k]
                p[j, k] -= rate * a[j, k] / (np.sqrt(b[j, k]) + eps)


@compiled
def follow(teacher: Arrays, theta: Arrays, share: Number) -> None:
    """teacher <- teacher + share (theta - teacher)."""
    share = np.float32(share)
    for i in range(len(theta)):
        p, q = theta[i], teacher[i]
        for j in range(p.shape[0]):
            for k in range(p.shape[1]):
                q[j, k] += share * (p[j, k] - q[j, k])


@compiled
def fit(
    theta: Arrays,
    teacher: Arrays,
    m: Arrays,
    v: Arrays,  # empty for SGD
    buffers: Buffers,
    rows: tuple[Array, Array, Array],  # X [n, d], y [n], w [b]
    index: Array,  # [steps, b] into the rows; a single one serves all steps
    noise: Array,  # [steps, 2, b, d] of student and teacher, of unit variance; no steps: none
    sd: float,  # of the noise
    rates: Array,  # [steps]: the learning rate
    weights: Array,  # [steps]: of the mean-teacher term
    momentum: float,
    ema: float,
    first: int,  # steps taken before these
) -> Number:
    """Steps of a mean-teacher fit; the last one's cross-entropy, before its update."""
    (X, y, w), (h, slopes, grads) = rows, buffers
    last = len(theta) - 1
    target, loss = np.empty_like(slopes[last]), np.float32(0)
    label = np.empty(len(w), np.int64)
    for k in range(len(rates)):
        batch, consistent = index[min(k, len(index) - 1)], weights[k] > 0
        kernel.gather(X, y, batch, h[0], label)
        if consistent:
            if len(noise):
                kernel.add(sd, noise[k, 1], h[0])
            kernel.trace(teacher, h, target)
            kernel.softmax(target)
            if len(noise):
                kernel.gather(X, y, batch, h[0], label)
                kernel.add(sd, noise[k, 0], h[0])
        kernel.trace(theta, h, slopes[last])
        if k == len(rates) - 1:
            loss = kernel.cross_entropy(slopes[last], label, w)
        if consistent:
            kernel.mean_teacher_slope(slopes[last], label, w, target, weights[k])
        else:
            kernel.cross_entropy_slope(slopes[last], label, w)
        kernel.backward(theta, h, slopes, grads, NO_PULL)
        if len(v):
            adam(theta, m, v, grads, rates[k], first + k + 1)
        else:
            sgd(theta, m, grads, rates[k], momentum)
        if consistent:
            follow(teacher, theta, 1 - min(1 - 1 / (first + k + 1), ema))
    return loss


def fit_in_span(
    theta: Arrays, X: Array, y: Array, w: Array, rates: Array, momentum: float
) -> float:
    """Full-batch SGD on X [n, d], y [n] with n <= d rows (RECORD on Spam); the last cross-entropy.

    The first layer W only ever moves within the span of the rows: W = W_0 + [x 1]^T a, and a
    descends along d loss / d [x 1] W itself. With G = [x 1] [x 1]^T a step costs n and not d rows:
    [x 1] W = [x 1] W_0 + G a.
    """
    at = buffers(theta, len(X))
    a = np.zeros_like(at.slopes[0])  # [n, out]
    start, net = np.empty_like(a), (a, *theta[1:])
    kernel.affine(X, theta[0], False, start)
    gram = X @ X.T + np.float32(1)
    at = at._replace(grads=(at.slopes[0], *at.grads[1:]))  # d loss / d a, in effect
    loss: float = descend_in_span(net, zeros(net), at, gram, start, y, w, rates, momentum)
    theta[0][:-1] += X.T @ a
    theta[0][-1] += a.sum(0)
    return loss


@compiled
def descend_in_span(
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
    last, first, loss = len(net) - 1, h[1], np.float32(0)
    for k in range(len(rates)):
        np.dot(gram, net[0], first)
        for i in range(first.shape[0]):
            for j in range(first.shape[1]):
                z = first[i, j] + start[i, j]
                first[i, j] = np.float32(0) if z <= 0 else z
        kernel.trace(net[1:], h[1:], slopes[last])
        if k == len(rates) - 1:
            loss = kernel.cross_entropy(slopes[last], y, w)
        kernel.cross_entropy_slope(slopes[last], y, w)
        kernel.backward(net[1:], h[1:], slopes[1:], grads[1:], NO_PULL)
        np.dot(slopes[1], net[1][:-1].T, slopes[0])
        kernel.through_relu(slopes[0], first)
        sgd(net, m, grads, rates[k], momentum)
    return float(loss)
