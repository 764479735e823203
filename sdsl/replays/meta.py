"""EAML (Liu et al., NeurIPS 2020): meta-train f so that a head led along the drift keeps the past.

min_f CE(D; g') + mean_l MMD(D, P_l; g') + mu |theta - theta_{t-1}|^2; g' is g after inner SGD on
CE(D) + 0.5 MMD(D, P_l), l = 1..5, no graph kept (first order). Then g adapts to X_t, f frozen.
The official code's gradient penalty is left out: under a piecewise linear head it is constant in f,
so it never changes an update (tests/replays/test_meta.py).

Gradients are written out, on NumPy arrays: through autograd an inner step takes twenty times as
long, and the paper's sweep nearly twice. Sets stand in circles, and a batch is so many rows from a
random start on.
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
        """Update f by the loss of heads that were led from g_{t-1} along the trajectory."""
        D, y, n = step.gold.X.numpy(), step.gold.y.numpy(), len(step.gold)
        P = [rows.numpy() for rows in trajectory(step)]
        held = min(n if n < 4 else n // 2, self.batch)  # rows of D an inner, a held-out batch
        sizes = [min(len(rows) // 2, self.batch) for rows in P]  # rows a support, a query set
        u = step.draws.uniform(3, self.iterations, DOMAINS).unbind()
        turn = starts(u[0][:, :1], n)  # where in D the held-out batch begins
        skip = starts(u[1], max(n - 2 * held + 1, 1))  # and an inner batch behind it
        begin = [starts(u[2][:, j], len(rows)) for j, rows in enumerate(P)]  # a support, in P_l
        f, m, loss = arrays(learner.theta[:-1]), zeros(before[:-1]), 0.0
        share = self.outer_mmd / max(1, sum(b > 1 for b in sizes))
        for k in range(self.iterations):
            net = *f, before[-1].copy()
            source = [circle(n, turn[k, 0] + held + a, held) for a in skip[k]]
            three = [(rows, a[k], b) for rows, a, b in zip(P, begin, sizes, strict=True)]
            support = [rows[circle(len(rows), a, b)] for rows, a, b in three]
            query = [rows[circle(len(rows), a + b, b)] for rows, a, b in three]
            pairs = [np.concatenate([D[i], x]) for i, x in zip(source, support, strict=True)]
            features = with_bias(encode(net, np.concatenate(pairs)).h[-1])
            ends = np.cumsum([len(x) for x in pairs])
            for phi, i in zip(np.split(features, ends[:-1]), source, strict=True):
                for _ in range(self.inner_steps):
                    net[-1][:] -= self.inner_lr * head_gradient(net[-1], phi, y[i], self.inner_mmd)
            first = circle(n, turn[k, 0], held)
            at = encode(net, np.concatenate([D[first], *query]))
            slope = at.slopes[-1]  # of the logits, in their place
            z, *others = np.split(slope.copy(), np.cumsum([held, *sizes[:-1]]))
            slope[held:] = 0
            loss = mean_cross_entropy(slope[:held], y[first])
            end = held
            for other in others:  # every domain, scored with the final head
                gap = share * mmd_slope(np.concatenate([z, other]), held)
                slope[:held] += gap[:held]
                slope[end : end + len(other)] = gap[held:]
                end += len(other)
            backward(net, at.h, at.slopes, at.grads, NO_PULL)
            rate = self.outer_lr * decayed(k / self.iterations)
            self.descend(f, before[:-1], m, at.grads[:-1], rate)
        return loss

    def adapt(self, step: Step, learner: Learner, before: Arrays) -> None:
        """Meta-test: f frozen, the head goes on from g_{t-1} by CE(D) + 0.2 MMD(D, X_t)."""
        n, N, y = len(step.gold), len(step.X), step.gold.y.numpy()
        u = step.draws.uniform(2, self.adapt_steps)
        source, target = (with_bias(learner.features(X).numpy()) for X in (step.gold.X, step.X))
        head = arrays(learner.theta[-1:])
        m = zeros(head)
        for a, b in zip(starts(u[0], n), starts(u[1], N), strict=True):
            i, j = circle(n, a, min(n, self.batch)), circle(N, b, min(N, self.batch))
            phi = np.concatenate([source[i], target[j]])
            grad = head_gradient(head[0], phi, y[i], self.adapt_mmd)
            self.descend(head, before[-1:], m, (grad,), self.adapt_lr)

    def descend(self, theta: Arrays, before: Arrays, m: Arrays, grads: Arrays, lr: float) -> None:
        """A step in place, with weight decay and the anchor at theta_{t-1}."""
        for g, p, q in zip(grads, theta, before, strict=True):
            g += self.decay * p + 2 * self.anchor * (p - q)
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


def circle(count: int, start: int, n: int) -> Array:
    """n places of a circle of `count`, from `start` on."""
    return (start + np.arange(n)) % max(1, count)


def encode(net: Arrays, X: Array) -> Buffers:
    """Features of the rows in h[-1], their logits in slopes[-1]."""
    at = buffers(net, len(X))
    at.h[0][:] = X
    trace(net, at.h, at.slopes[-1])
    return at


def with_bias(f: Array) -> Array:
    """[f 1]"""
    return np.hstack([f, np.ones((len(f), 1), np.float32)])


def head_gradient(g: Array, phi: Array, y: Array, weight: float) -> Array:
    """d/dg of mean CE on the first rows of phi + weight MMD^2 between their logits and the rest's.

    g [m + 1, C]; phi: features and a 1 [n, m + 1]; y: labels of the first rows.
    """
    z = phi @ g
    slope = weight * mmd_slope(z, len(y))
    mean_cross_entropy(z[: len(y)], y)
    slope[: len(y)] += z[: len(y)]
    return phi.T @ slope


def mean_cross_entropy(z: Array, y: Array) -> float:
    """Mean CE of the logits z [n, C]; its slope takes their place."""
    w = np.full(len(y), 1 / max(1, len(y)), np.float32)
    loss = float(cross_entropy(z, y, w))
    cross_entropy_slope(z, y, w)
    return loss


def mmd_slope(z: Array, n: int) -> Array:
    """d/dz of MMD^2 between z[:n] and z[n:] [N, C] (Gretton et al. 2012; Long et al. 2015).

    Unbiased: MMD^2 = mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean k(x_i, y_j),
    k(u, v) = sum_{q = -2..2} exp(-|u - v|^2 / (2^q b)); b, held constant, is the mean of |u - v|^2
    over all pairs. With e = exp(-d / 4b) the kernels are e, e^2, e^4, e^8, e^16, and dk/dd is
    -(e + 2 e^2 + ... + 16 e^16) / 4b. 0 where a side has fewer than two points.
    """
    slope = np.zeros_like(z)
    if min(n, len(z) - n) > 1:
        e = np.empty((len(z), len(z)), np.float32)
        b = exponents(z, e)
        add_slope(z, np.exp(e, out=e), n, b, slope)  # NumPy's exp takes several at a time
    return slope


@compiled
def exponents(z: Array, e: Array) -> float:
    """b; e_ij becomes -|z_i - z_j|^2 / 4b."""
    (N, C), x, total = z.shape, z.T.copy(), 0.0
    for i in range(N):
        for j in range(N):
            e[i, j] = 0
        for c in range(C):
            for j in range(N):
                gap = x[c, j] - x[c, i]
                e[i, j] += gap * gap
        total += e[i].sum()
    b = max(total / (N * (N - 1)), 1e-12)
    scale = np.float32(-0.25 / b)
    for i in range(N):
        for j in range(N):
            e[i, j] *= scale
    return b


@compiled
def add_slope(z: Array, e: Array, n: int, b: float, slope: Array) -> None:
    """Adds d MMD^2 / dz_j = sum_i w_ij (e + 2 e^2 + ... + 16 e^16)_ij (z_i - z_j) / b."""
    (N, C), x, two = z.shape, z.T.copy(), np.float32(2)
    m = N - n
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
                pulls[c, j] += s[j] * (x[c, i] - x[c, j])
    for j in range(N):
        for c in range(C):
            slope[j, c] += np.float32(pulls[c, j] / b)
