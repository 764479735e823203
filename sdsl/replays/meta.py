"""EAML (Liu et al., NeurIPS 2020): meta-train f so that a head led along the drift keeps the past.

min_f CE(D; g') + mean_l MMD(D, P_l; g') + mu |theta - theta_{t-1}|^2; g' is g after inner SGD on
CE(D) + 0.5 MMD(D, P_l), l = 1..5, no graph kept (first order). Then g adapts to X_t, f frozen.
The official code's gradient penalty is left out: under a piecewise linear head it is constant in f,
so it never changes an update (tests/replays/test_meta.py).

Gradients are written out: through autograd an inner step takes ten times as long, and the paper's
sweep a third more. Sets stand in circles; a batch is so many rows from a random start on.
"""

from functools import cache

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.descent import sgd
from sdsl.core.kernel import Array, Arrays, cross_entropy, cross_entropy_slope, zeros
from sdsl.core.learner import Learner
from sdsl.core.network import Theta, arrays, backward, forward, trace
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
        before = learner.copy()
        loss = self.meta_train(step, learner, before)
        self.adapt(step, learner, before)
        return {"loss_replay": loss}

    def meta_train(self, step: Step, learner: Learner, before: Theta) -> float:
        """Update f by the loss of heads that were led from g_{t-1} along the trajectory."""
        P, D, n = trajectory(step), step.gold, len(step.gold)
        held = min(n if n < 4 else n // 2, self.batch)  # rows of D an inner, a held-out batch
        sizes = [min(len(p) // 2, self.batch) for p in P]  # rows a support, a query set
        share = self.outer_mmd / max(1, sum(b > 1 for b in sizes))
        u = step.draws.uniform(3, self.iterations, DOMAINS)  # drawn once for the phase
        turns = (u[0, :, 0] * n).long().tolist()  # where in D the held-out batch starts
        skips = (u[1] * max(n - 2 * held + 1, 1)).long().tolist()  # an inner batch, behind it
        starts = (u[2] * torch.tensor([len(p) for p in P])).long().tolist()  # a support, in P_l
        f, m, loss = learner.theta[:-1], zeros(arrays(learner.theta[:-1])), 0.0
        for k in range(self.iterations):
            g = before[-1].clone()
            source = [circle(n, turns[k] + held + skip, held) for skip in skips[k]]
            three = list(zip(P, starts[k], sizes, strict=True))
            support = [p[circle(len(p), a, b)] for p, a, b in three]
            query = [p[circle(len(p), a + b, b)] for p, a, b in three]
            pairs = [torch.cat([D.X[i], x]) for i, x in zip(source, support, strict=True)]
            features = with_bias(forward(torch.cat(pairs), learner.theta)[0])
            for i, phi in zip(source, features.split([len(x) for x in pairs]), strict=True):
                for _ in range(self.inner_steps):
                    g -= self.inner_lr * head_gradient(g, phi, D.y[i], self.inner_mmd)
            first = circle(n, turns[k], held)
            inputs, logits = trace(torch.cat([D.X[first], *query]), [*f, g])
            z, *others = logits.split([held, *sizes])
            loss, slope = mean_cross_entropy(z, D.y[first])
            slopes = [slope]
            for other in others:  # every domain, scored with the final head
                gap = share * mmd_slope(torch.cat([z, other]), held)
                slope += gap[:held]
                slopes.append(gap[held:])
            grads = backward(inputs, torch.cat(slopes), [*f, g])[:-1]
            self.step(f, before[:-1], m, grads, self.outer_lr * decayed(k / self.iterations))
        return loss

    def adapt(self, step: Step, learner: Learner, before: Theta) -> None:
        """Meta-test: f frozen, the head goes on from g_{t-1} by CE(D) + 0.2 MMD(D, X_t)."""
        n, N = len(step.gold), len(step.X)
        u = step.draws.uniform(2, self.adapt_steps)
        starts = (u * torch.tensor([[n], [N]])).long().T.tolist()
        source, target = (with_bias(learner.features(X)) for X in (step.gold.X, step.X))
        head, m = learner.theta[-1:], zeros(arrays(learner.theta[-1:]))
        for a, b in starts:
            i, j = circle(n, a, min(n, self.batch)), circle(N, b, min(N, self.batch))
            phi = torch.cat([source[i], target[j]])
            grad = head_gradient(head[0], phi, step.gold.y[i], self.adapt_mmd)
            self.step(head, before[-1:], m, [grad], self.adapt_lr)

    def step(self, theta: Theta, before: Theta, m: Arrays, grads: Theta, lr: float) -> None:
        """A step of descent in place, with weight decay and the anchor at theta_{t-1}."""
        pulled = [
            g + self.decay * p + 2 * self.anchor * (p - q)
            for g, p, q in zip(grads, theta, before, strict=True)
        ]
        sgd(arrays(theta), m, arrays(pulled), lr, self.momentum)


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


def circle(count: int, start: int, n: int) -> Tensor:
    """n places of a circle of `count`, from `start` on."""
    return (start + torch.arange(n)) % max(1, count)


def with_bias(f: Tensor) -> Tensor:
    """[f 1]"""
    return F.pad(f, (0, 1), value=1.0)


def head_gradient(g: Tensor, phi: Tensor, y: Tensor, weight: float) -> Tensor:
    """d/dg of mean CE on the first rows of phi + weight MMD^2 between their logits and the rest's.

    g [m + 1, C]; phi: features and a 1 [n, m + 1]; y: labels of the first rows.
    """
    z = phi @ g
    slope = weight * mmd_slope(z, len(y))
    slope[: len(y)] += mean_cross_entropy(z[: len(y)], y)[1]
    return phi.T @ slope


def mean_cross_entropy(z: Tensor, y: Tensor) -> tuple[float, Tensor]:
    """(mean CE of the logits z [n, C], its slope)."""
    n = len(y)
    given = arrays([z.clone(), y, torch.full((n,), 1 / max(1, n))])
    loss = float(cross_entropy(*given))
    cross_entropy_slope(*given)
    return loss, torch.from_numpy(given[0])


def mmd_slope(z: Tensor, n: int) -> Tensor:
    """d/dz of MMD^2 between z[:n] and z[n:] [N, C] (Gretton et al. 2012; Long et al. 2015).

    Unbiased: MMD^2 = mean_{i != j} k(x_i, x_j) + mean_{i != j} k(y_i, y_j) - 2 mean k(x_i, y_j),
    k(u, v) = sum_{q = -2..2} exp(-|u - v|^2 / (2^q b)); b, held constant, is the mean of |u - v|^2
    over all pairs. With e = exp(-d / 4b) the kernels are e, e^2, e^4, e^8, e^16, and dk/dd is
    -(e + 2 e^2 + ... + 16 e^16) / 4b. 0 where a side has fewer than two points.
    """
    N = len(z)
    if min(n, N - n) < 2:
        return torch.zeros_like(z)
    x = z.numpy() - z.numpy().mean(0)
    square = (x * x).sum(1)
    b = max(2 / (N - 1) * float(square.sum()), 1e-12)
    d = square[:, None] + square - 2 * (x @ x.T)
    e = np.exp(d * (-0.25 / b))
    slope = e.copy()
    for power in (2, 4, 8, 16):
        e *= e
        slope += power * e
    slope *= pair_weights(n, N - n)
    return torch.from_numpy((slope @ x - slope.sum(1)[:, None] * x) / b)


@cache
def pair_weights(n: int, m: int) -> Array:
    """The weight of every ordered pair of points in MMD^2 [n + m, n + m]."""
    w = np.full((n + m, n + m), -1 / (n * m), np.float32)
    w[:n, :n], w[n:, n:] = 1 / (n * (n - 1)), 1 / (m * (m - 1))
    np.fill_diagonal(w, 0)
    return w
