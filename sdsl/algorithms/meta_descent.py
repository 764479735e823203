"""EAML's meta-training and its adaptation of the head, compiled, for one replica.

The head g descends CE(D) + weight MMD(D, P) on fixed features: inner steps, adaptation.
The encoder f descends CE(D; g') + outer_mmd sum_l share_l MMD(D, P_l; g') + decay + anchor; g' is
the head after its inner steps along P_1..P_L, taken as given (first order).

Sets stand in circles, and a batch is so many rows from some start on.
"""

from typing import NamedTuple

import numpy as np

from sdsl.algorithms.mmd import mmd
from sdsl.core.compiled import compiled
from sdsl.core.descent import sgd
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    affine,
    backward,
    cross_entropy,
    cross_entropy_slope,
    layer_gradient,
    trace,
)


class How(NamedTuple):
    """The settings of replay=meta that the descent itself knows."""

    inner_steps: int
    inner_lr: float
    inner_mmd: float
    outer_mmd: float
    adapt_mmd: float
    momentum: float
    decay: float
    anchor: float


class Parts(NamedTuple):
    """Where the pseudo-domains P_1..P_L lie among the unlabelled rows, each in an array [L]."""

    first: Array
    length: Array
    size: Array  # rows a batch


class Starts(NamedTuple):
    """Where the batches of every iteration start, each in an array [iterations, ..]."""

    held_out: Array  # [.., 1], in D
    source: Array  # [.., L], in D behind the held-out batch
    support: Array  # [.., L], in P_l; the query batch follows it


@compiled
def window(X: Array, first: int, count: int, start: int, out: Array) -> None:
    """Rows of the circle of `count` from the first on, beginning at the start-th: out_i [d]."""
    for i in range(len(out)):
        row = first + (start + i) % count
        for j in range(X.shape[1]):
            out[i, j] = X[row, j]


@compiled
def labels(y: Array, start: int, n: int) -> Array:
    """The same of D's labels [n]."""
    return y[(start + np.arange(n)) % len(y)]


@compiled
def encode(net: Arrays, h: Arrays, n: int) -> Array:
    """Features [n, m] of the rows h[0][:n]; without hidden layers the rows themselves."""
    last = len(net) - 1
    for i in range(last):
        affine(h[i][:n], net[i], True, h[i + 1][:n])
    return h[last]


@compiled
def head_gradient(g: Array, phi: Array, y: Array, weight: float, grad: Array) -> None:
    """d/dg of mean CE on phi's first len(y) rows + weight MMD between their logits and the rest's.

    g: [m + 1, C]. phi: features [n, m].
    """
    n = len(y)
    z = np.empty((len(phi), g.shape[1]), np.float32)
    affine(phi, g, False, z)
    slope = z.copy()
    cross_entropy_slope(slope[:n], y, equal_weights(n))
    slope[n:] = 0
    mmd(z[:n], z[n:], weight, slope[:n], slope[n:])
    layer_gradient(phi, slope, grad)


@compiled
def equal_weights(n: int) -> Array:
    """Of n rows' mean."""
    return np.full(n, np.float32(1 / max(n, 1)), np.float32)


@compiled
def pull(grads: Arrays, theta: Arrays, before: Arrays, decay: float, anchor: float) -> None:
    """Adds weight decay and the anchor at theta_{t-1} to the gradients."""
    one, twice = np.float32(decay), np.float32(2 * anchor)
    for i in range(len(theta)):
        d, p, q = grads[i], theta[i], before[i]
        for j in range(p.shape[0]):
            for k in range(p.shape[1]):
                d[j, k] += one * p[j, k] + twice * (p[j, k] - q[j, k])


@compiled
def lead(
    net: Arrays,
    h: Arrays,
    gold: Array,
    y: Array,
    rows: Array,
    held: int,
    parts: Parts,
    at: tuple,
    how: How,
) -> None:
    """Inner steps of the head, the last of net, along the pseudo-domains.

    at: an iteration's (turn, source [L], support [L]). Where D is small its batches overlap: then
    the features of all it holds behind the held-out rows are computed once.
    """
    turn, source, support = at
    g, grad = net[-1], np.empty_like(net[-1])
    L, around = len(source), max(len(gold) - held, held)
    shared = around <= L * held
    n = around if shared else L * held
    if shared:
        window(gold, 0, len(gold), turn + held, h[0][:n])
    for j in range(L):
        if not shared:
            window(gold, 0, len(gold), turn + held + source[j], h[0][j * held : (j + 1) * held])
        to = n + parts.size[:j].sum()
        if parts.size[j]:
            out = h[0][to : to + parts.size[j]]
            window(rows, parts.first[j], parts.length[j], support[j], out)
    features = encode(net, h, n + parts.size.sum())
    for j in range(L):
        first, to = source[j] if shared else j * held, n + parts.size[:j].sum()
        phi = np.concatenate((features[first : first + held], features[to : to + parts.size[j]]))
        label = labels(y, turn + held + source[j], held)
        for _ in range(how.inner_steps):
            head_gradient(g, phi, label, how.inner_mmd, grad)
            g[:] -= np.float32(how.inner_lr) * grad


@compiled
def meta_descend(
    net: Arrays,  # f, and a head that starts from g_{t-1} at every iteration
    before: Arrays,  # theta_{t-1}
    m: Arrays,
    h: Arrays,  # of the inner batches
    buffers: Buffers,  # of the outer ones: held-out rows, then the query rows of each P_l
    gold: tuple[Array, Array],  # X [n, d], y [n]
    rows: Array,  # [N, d]
    held: int,  # rows of D a batch
    parts: Parts,
    starts: Starts,
    rates: Array,  # [iterations]
    how: How,
) -> tuple[float, float]:
    """Steps of f; the last one's cross-entropy and MMD, before its update."""
    X, y = gold
    last, L, n = len(net) - 1, len(parts.size), len(X)
    logits, w = buffers.slopes[last], equal_weights(held)
    z, x = np.empty_like(logits), buffers.h[0]
    filled = (parts.size > 1).sum()
    share = 1 / max(filled, 1)
    ce, gap = np.float32(0), np.float32(0)
    for k in range(len(rates)):
        turn, support = starts.held_out[k, 0], starts.support[k]
        net[last][:] = before[last]
        lead(net, h, X, y, rows, held, parts, (turn, starts.source[k], support), how)
        window(X, 0, n, turn, x[:held])
        to = held
        for j in range(L):
            b = parts.size[j]
            if b:
                window(rows, parts.first[j], parts.length[j], support[j] + b, x[to : to + b])
            to += b
        trace(net, buffers.h, z)
        label = labels(y, turn, held)
        ce = cross_entropy(z[:held], label, w)
        logits[:] = 0
        logits[:held] = z[:held]
        cross_entropy_slope(logits[:held], label, w)
        gap, to = np.float32(0), held
        for j in range(L):  # every domain, scored with the final head
            b = parts.size[j]
            more = how.outer_mmd * share
            gap += share * mmd(z[:held], z[to : to + b], more, logits[:held], logits[to : to + b])
            to += b
        backward(net, buffers.h, buffers.slopes, buffers.grads, NO_PULL)
        pull(buffers.grads, net, before, how.decay, how.anchor)
        sgd(net, m, buffers.grads, rates[k], how.momentum)
    return float(ce), float(gap)


@compiled
def adapt_head(
    head: tuple[Array],  # [m + 1, C]
    before: tuple[Array],
    m: tuple[Array],
    source: Array,  # features of D [n, m]
    y: Array,
    target: Array,  # features of X_t [N, m]
    sizes: tuple[int, int],  # rows of each a batch
    starts: Array,  # [2, steps]
    lr: float,
    how: How,
) -> None:
    """Steps of the head on frozen features."""
    held, b = sizes
    phi = np.empty((held + b, source.shape[1]), np.float32)
    grads = (np.empty_like(head[0]),)
    for k in range(starts.shape[1]):
        window(source, 0, len(source), starts[0, k], phi[:held])
        window(target, 0, len(target), starts[1, k], phi[held:])
        label = labels(y, starts[0, k], held)
        head_gradient(head[0], phi, label, how.adapt_mmd, grads[0])
        pull(grads, head, before, how.decay, how.anchor)
        sgd(head, m, grads, lr, how.momentum)
