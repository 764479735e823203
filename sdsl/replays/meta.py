"""EAML (Liu et al., NeurIPS 2020): meta-train f so that a head led along the drift keeps the past.

The head g is the last two layers, g(h) = [relu([h 1] theta_{-2}) 1] theta_{-1}; the encoder f is
what stands before it. A network of two layers has none: f(x) = x, and nothing is meta-trained.
min_f CE(D; g') + mean_l MMD(D, P_l; g') + mu |theta - theta_{t-1}|^2; g' is g after inner SGD on
CE(D) + 0.5 MMD(D, P_l), l = 1..5, no graph kept (first order). Then g adapts to X_t, f frozen.
The official code's gradient penalty, |d mean margin / d f(x)|^2, is left out: under a piecewise
linear g it is constant in f almost everywhere and changes no update (tests/replays/test_meta.py).

Gradients are written out, on NumPy arrays: through autograd an inner step takes about ten times as
long. Sets stand in circles, and a batch is so many rows from a random start on.
"""

import numpy as np
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import sgd
from sdsl.core.kernel import (
    NO_PULL,
    Array,
    Arrays,
    Buffers,
    add,
    affine,
    backward,
    buffers,
    compiled,
    cross_entropy,
    cross_entropy_slope,
    trace,
    zeros,
)
from sdsl.core.learner import Learner
from sdsl.core.network import arrays
from sdsl.core.settings import Count, Share, Weight, settings

DOMAINS = 5  # pseudo-domains P_l a trajectory
HEAD = 2  # layers of g; 1 in a network of one layer


@settings
class Meta(Replay):
    iterations: Count
    batch: Count  # rows of D, of a support, of a query set; fewer where there are
    inner_steps: Count  # of the head, for each pseudo-domain
    inner_lr: Weight
    inner_mmd: Weight
    outer_lr: Weight  # times 0.1 and 0.01 after 1/2 and 3/4 of the iterations
    outer_mmd: Weight
    adapt_steps: Count  # of the head on X_t, after meta-training
    adapt_lr: Weight
    adapt_mmd: Weight
    momentum: Share
    decay: Weight  # weight decay
    anchor: Weight  # mu

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        before = arrays(learner.copy())
        loss = self.meta_train(step, learner, before)
        self.adapt(step, learner, before)
        return {"loss_replay": loss}

    def meta_train(self, step: Step, learner: Learner, before: Arrays) -> float:
        """Update f by d/df (CE(D) + mean_l MMD(D, P_l)) under heads led along the trajectory.

        Inside, from g_{t-1} on, both layers: g <- g - inner_lr d/dg (CE(D) + 0.5 MMD(D, P_l)).
        """
        f, loss = arrays(learner.theta[:-HEAD]), 0.0
        if not f:
            return loss
        (D, y), n = arrays([step.gold.X, step.gold.y]), len(step.gold)
        P = list(arrays(trajectory(step)))
        held = min(n if n < 4 else n // 2, self.batch)  # rows of D an inner, a held-out batch
        sizes = [min(len(rows) // 2, self.batch) for rows in P]  # rows a support, a query set
        u = step.draws.uniform(3, self.iterations, DOMAINS).unbind()
        turn = starts(u[0][:, :1], n)  # where in D the held-out batch begins
        skip = starts(u[1], max(n - 2 * held + 1, 1))  # and an inner batch behind it
        first, source = circle(n, turn[:, 0], held), circle(n, turn + held + skip, held)
        for j, (rows, b) in enumerate(zip(P, sizes, strict=True)):  # supports, queries behind them
            P[j] = rows[circle(len(rows), starts(u[2][:, j], len(rows)), 2 * b)]
        three = list(zip(P, source.swapaxes(0, 1), sizes, strict=True))
        pairs = [np.concatenate([D[i], rows[:, :b]], 1) for rows, i, b in three]
        tests = np.concatenate([D[first], *(rows[:, b:] for rows, _, b in three)], 1)
        inner = [buffers(before[-HEAD:], held + b) for b in sizes]
        outer, m = buffers(before, tests.shape[1]), zeros(f)
        share = self.outer_mmd / max(1, sum(b > 1 for b in sizes))
        for k in range(self.iterations):
            g = tuple(layer.copy() for layer in before[-HEAD:])
            for j, at in enumerate(inner):
                at.h[0][:] = encode(f, pairs[j][k])
                for _ in range(self.inner_steps):
                    gradient(g, at, y[source[k, j]], sizes[j : j + 1], self.inner_mmd)
                    for layer, grad in zip(g, at.grads, strict=True):
                        add(-self.inner_lr, grad, layer)
            outer.h[0][:] = tests[k]
            loss = gradient((*f, *g), outer, y[first[k]], sizes, share)
            lr = self.outer_lr * decayed(k / self.iterations)
            self.descend(f, before[:-HEAD], m, outer.grads[:-HEAD], lr)
        return loss

    def adapt(self, step: Step, learner: Learner, before: Arrays) -> None:
        """Meta-test: f frozen, the head goes on from g_{t-1} by CE(D) + 0.2 MMD(D, X_t)."""
        n, N, y = len(step.gold), len(step.X), step.gold.y.numpy()
        f, g = arrays(learner.theta[:-HEAD]), arrays(learner.theta[-HEAD:])
        source, target = (encode(f, X.numpy()) for X in (step.gold.X, step.X))
        b, c, u = min(n, self.batch), min(N, self.batch), step.draws.uniform(2, self.adapt_steps)
        at, m = buffers(g, b + c), zeros(g)
        for i, j in zip(circle(n, starts(u[0], n), b), circle(N, starts(u[1], N), c), strict=True):
            at.h[0][:b], at.h[0][b:] = source[i], target[j]
            gradient(g, at, y[i], [c], self.adapt_mmd)
            self.descend(g, before[-HEAD:], m, at.grads, self.adapt_lr)

    def descend(self, theta: Arrays, before: Arrays, m: Arrays, grads: Arrays, lr: float) -> None:
        """A step in place along g + decay theta + 2 mu (theta - theta_{t-1}), g in grads."""
        for g, p, q in zip(grads, theta, before, strict=True):
            add(self.decay + 2 * self.anchor, p, g)
            add(-2 * self.anchor, q, g)
        sgd(theta, m, grads, lr, self.momentum)


def trajectory(step: Step) -> list[Tensor]:
    """Unlabelled rows of the pseudo-domains P_1..P_5, in drift order.

    The rows stored at t-1 in two parts, then X_t in three, its parts at random.
    """
    X = step.X[step.draws.permutation(len(step.X))]
    half, third = len(step.lookback) // 2, len(X) // 3
    return [*step.lookback.X.tensor_split([half]), *X.tensor_split([third, 2 * third])]


def decayed(p: float) -> float:
    """The official schedule as intended: its code's second condition is garbled by a precedence."""
    return 1.0 if p < 0.5 else 0.1 if p < 0.75 else 0.01


def starts(u: Tensor, count: int) -> Array:
    """Random places in a circle of `count`, from uniform numbers."""
    return (u * count).long().numpy()


def circle(count: int, start: Array, n: int) -> Array:
    """n places of a circle of `count` from every start on: [..., n]."""
    return (start[..., None] + np.arange(n)) % max(1, count)


def encode(f: Arrays, X: Array) -> Array:
    """f(X) [n, m]: relu([X 1] theta_i), layer by layer; X itself if there are none."""
    for layer in f:
        out = np.empty((len(X), layer.shape[1]), np.float32)
        affine(X, layer, True, out)
        X = out
    return X


def gradient(net: Arrays, at: Buffers, y: Array, sizes: list[int], weight: float) -> float:
    """at.grads <- d/d net of CE(z_0, y) + weight sum_l MMD^2(z_0, z_l); the mean CE is returned.

    at.h[0]: the rows of D, their logits z_0, then so many (sizes) of every domain l, theirs z_l.
    """
    trace(net, at.h, at.slopes[-1])
    z, n, end = at.slopes[-1], len(y), len(y)
    pull = np.zeros(z.shape, np.float32)
    for size in sizes:
        this = slice(end, end + size)
        add_mmd_slope(z[:n], z[this], pull[:n], pull[this])
        end += size
    loss = mean_cross_entropy(z[:n], y)
    z[n:] = 0
    add(weight, pull, z)
    backward(net, *at, NO_PULL)
    return loss


def mean_cross_entropy(z: Array, y: Array) -> float:
    """Mean CE of the logits z [n, C]; its slope takes their place."""
    w = np.full(len(y), 1 / max(1, len(y)), np.float32)
    loss = float(cross_entropy(z, y, w))
    cross_entropy_slope(z, y, w)
    return loss


def add_mmd_slope(x: Array, y: Array, dx: Array, dy: Array) -> None:
    """Adds the slopes of MMD^2 at x [n, C] and y [m, C] (Gretton et al. 2012; Long et al. 2015).

    Unbiased: MMD^2 = mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean k(x_i, y_j),
    k(u, v) = sum_{q = -2..2} exp(-|u - v|^2 / (2^q b)); b, held constant, is the mean of |u - v|^2
    over all pairs. With e = exp(-d / 4b) the kernels are e, e^2, e^4, e^8, e^16, and dk/dd is
    -(e + 2 e^2 + ... + 16 e^16) / 4b. 0 where a side has fewer than two points.
    """
    if min(len(x), len(y)) > 1:
        z = np.concatenate([x, y]).T.copy()
        e = np.empty((z.shape[1], z.shape[1]), np.float32)
        b = exponents(z, e)
        add_slope(z, np.exp(e, out=e), b, dx, dy)  # NumPy's exp takes several at a time


@compiled
def exponents(z: Array, e: Array) -> float:
    """b; e_ij becomes -|z_i - z_j|^2 / 4b, for the columns of z [C, N]."""
    (C, N), sums = z.shape, np.zeros(z.shape[1], np.float32)
    for i in range(N):
        for j in range(N):
            e[i, j] = 0
        for c in range(C):
            for j in range(N):
                gap = z[c, j] - z[c, i]
                e[i, j] += gap * gap
        for j in range(N):
            sums[j] += e[i, j]
    b = max(sums.sum() / (N * (N - 1)), 1e-12)
    scale = np.float32(-0.25 / b)
    for i in range(N):
        for j in range(N):
            e[i, j] *= scale
    return b


@compiled
def add_slope(z: Array, e: Array, b: float, dx: Array, dy: Array) -> None:
    """Adds d MMD^2 / dz_j = sum_i w_ij (e + 2 e^2 + ... + 16 e^16)_ij (z_i - z_j) / b."""
    (C, N), n, m, two = z.shape, len(dx), len(dy), np.float32(2)
    w = np.full((2, N), np.float32(-1 / (n * m)))  # of a pair, by the side of i
    w[0, :n], w[1, n:] = 1 / (n * (n - 1)), 1 / (m * (m - 1))
    s, pulls = np.empty(N, np.float32), np.zeros((C, N), np.float32)
    for i in range(N):
        side = w[0] if i < n else w[1]
        for j in range(N):
            e1 = e[i, j]
            e2 = e1 * e1
            e4 = e2 * e2
            e8 = e4 * e4
            s[j] = side[j] * (e1 + two * (e2 + two * (e4 + two * (e8 + two * e8 * e8))))
        for c in range(C):
            for j in range(N):
                pulls[c, j] += s[j] * (z[c, i] - z[c, j])
    for j in range(N):
        slope = dx[j] if j < n else dy[j - n]
        for c in range(C):
            slope[c] += np.float32(pulls[c, j] / b)
