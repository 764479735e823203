"""The projected min-max search of flat-region replay (paper Eqs. 9-11), compiled, for one replica.

xi <- xi + eta1 P_M grad L(theta + xi);  theta <- theta - eta2 (I - P_M) grad L(theta + xi).
P_M = V^T V, V [rank, in + 1] the directions of M for each layer, shorter than 1 where it is let go.
"""

from typing import NamedTuple

import numpy as np

from sdsl.core.compiled import compiled
from sdsl.core.descent import sgd
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    Number,
    add,
    backward,
    copy,
    cross_entropy,
    cross_entropy_slope,
    gather,
    trace,
    zeros,
)


class How(NamedTuple):
    """The settings of replay=flat_region that the search itself knows."""

    eta1: float
    eta2: float
    momentum: float
    ascents: int
    rho: float  # the length of xi; 0: as long as it comes out
    no_xi: bool
    no_proj: bool
    carried: bool


class Space(NamedTuple):
    """M, and what the search writes."""

    V: Arrays  # [rank, in + 1]
    within: Arrays  # [rank, out]: coordinates in M
    image: Arrays  # P_M g
    point: Arrays  # theta + xi
    xi: Arrays  # what the next step of descent starts from
    velocity: Arrays


def space_of(V: Arrays, theta: Arrays) -> Space:
    """The search for a network, at xi = 0 and at rest."""
    pairs = zip(V, theta, strict=True)
    within = tuple(np.empty((len(v), layer.shape[1]), np.float32) for v, layer in pairs)
    return Space(V, within, *(zeros(theta) for _ in range(4)))


@compiled
def project(space: Space, grads: Arrays) -> None:
    """The image P_M g of every layer's gradient."""
    for i in range(len(grads)):
        np.dot(space.V[i], grads[i], space.within[i])
        np.dot(space.V[i].T, space.within[i], space.image[i])


@compiled
def slopes_at(point: Arrays, buffers: Buffers, y: Array, w: Array) -> None:
    """The gradient of the weighted cross-entropy of the batch h[0], into grads."""
    logits = buffers.slopes[len(point) - 1]
    trace(point, buffers.h, logits)
    cross_entropy_slope(logits, y, w)
    backward(point, buffers.h, buffers.slopes, buffers.grads, NO_PULL)


@compiled
def loss_at(point: Arrays, buffers: Buffers, y: Array, w: Array) -> Number:
    """That cross-entropy."""
    logits = buffers.slopes[len(point) - 1]
    trace(point, buffers.h, logits)
    return cross_entropy(logits, y, w)


@compiled
def ascend(theta: Arrays, how: How, space: Space, buffers: Buffers, y: Array, w: Array) -> None:
    """point = theta + xi: the worst case nearby, within M. The search starts at space.xi."""
    point, steps = space.point, buffers.grads if how.no_proj else space.image
    for i in range(len(theta)):
        copy(theta[i], point[i])
        if how.carried:
            add(1, space.xi[i], point[i])
    for _ in range(how.ascents):
        slopes_at(point, buffers, y, w)
        if not how.no_proj:
            project(space, buffers.grads)
        for i in range(len(theta)):
            add(how.eta1, steps[i], point[i])
    if how.rho or how.carried:
        square = 0.0
        for i in range(len(theta)):
            copy(point[i], space.xi[i])
            add(-1, theta[i], space.xi[i])
            square += np.sum(space.xi[i] * space.xi[i])
        for i in range(len(theta) if how.rho else 0):
            copy(theta[i], point[i])
            add(how.rho / max(np.sqrt(square), 1e-12), space.xi[i], point[i])


@compiled
def search(
    theta: Arrays,
    how: How,
    space: Space,
    buffers: Buffers,
    rows: tuple[Array, Array, Array],  # X [n, d], y [n], w [b]
    index: Array,  # [steps, b] into the rows
) -> tuple[Number, Number]:
    """Steps of it from theta on, in place; the last one's loss, and how much of it is xi's."""
    X, y, w = rows
    grads, label = buffers.grads, np.empty(len(w), np.int64)
    point, loss, rise = theta if how.no_xi else space.point, np.float32(0), np.float32(0)
    for k in range(len(index)):
        gather(X, y, index[k], buffers.h[0], label)
        if not how.no_xi:
            ascend(theta, how, space, buffers, label, w)
        if k == len(index) - 1:
            loss = loss_at(point, buffers, label, w)
            rise = loss - loss_at(theta, buffers, label, w)
        slopes_at(point, buffers, label, w)
        if not how.no_proj:
            project(space, grads)
            for i in range(len(theta)):
                add(-1, space.image[i], grads[i])
        sgd(theta, space.velocity, grads, how.eta2, how.momentum)
    return loss, rise
