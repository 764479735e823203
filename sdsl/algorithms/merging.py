"""Mergers that keep memory within its budget: two clusters of a class, where it costs least.

Cost of i and j (Runnalls 2007): 1/2 (n log|S| - n_i log|S_i| - n_j log|S_j|), n = n_i + n_j, with
log|S| = sum log R + .1 log(v + 1/12): what the motion leaves of the variances, and a little time.
"""

import math

import numpy as np
import torch

from sdsl.algorithms.memory import FLOOR, WITHIN, Clusters
from sdsl.core.compiled import compiled

TIME = 0.1  # what the spread in time counts


def merged(a: Clusters, b: Clusters) -> Clusters:
    """The moments of both, pair by pair."""
    both = torch.empty_like(a.moments)
    for i in range(len(a)):
        both[i] = torch.from_numpy(pooled(a.moments[i].numpy(), b.moments[i].numpy()))
    return Clusters(b.owner, both)


@compiled
def pooled(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """The moments n, tau, v, m, V, s [3 + 3 d] of two clusters together."""
    d, n = (len(a) - 3) // 3, a[0] + b[0]
    g, dt = b[0] / n, b[1] - a[1]
    both = a + g * (b - a)  # the means, and the mean of the variances
    both[0] = n
    both[2] += g * (1 - g) * dt * dt
    for j in range(d):
        gap = b[3 + j] - a[3 + j]
        both[3 + d + j] += g * (1 - g) * gap * gap
        both[3 + 2 * d + j] += g * (1 - g) * gap * dt
    return both


@compiled
def evidence(c: np.ndarray) -> float:
    """n/2 log|S| of one cluster's moments."""
    d, v = (len(c) - 3) // 3, max(c[2], 1e-12)
    log_det = TIME * math.log(c[2] + WITHIN)
    for j in range(d):
        log_det += math.log(max(c[3 + d + j] - c[3 + 2 * d + j] ** 2 / v, FLOOR))
    return 0.5 * c[0] * log_det


def reduced(c: Clusters, most: int) -> Clusters:
    """At most `most` clusters: mergers of least cost; where no pair is left, the lightest go."""
    if most >= len(c):
        return c
    moments = c.moments.clone()
    live = torch.from_numpy(merge(moments.numpy(), c.owner.contiguous().numpy(), most))
    kept, c = live.nonzero().squeeze(1), Clusters(c.owner, moments)
    if len(kept) > most:
        kept = kept[c.n[kept].argsort(descending=True, stable=True)[:most]].sort().values
    return c.pick(kept)


@compiled
def merge(moments: np.ndarray, owner: np.ndarray, most: int) -> np.ndarray:
    """Merges pairs in place, the second into the first; which clusters are left: [K]."""
    K = len(owner)
    cost, weigh, live = np.full((K, K), np.inf), np.empty(K), np.ones(K, np.bool_)
    for i in range(K):
        weigh[i] = evidence(moments[i])
        for j in range(i):
            if owner[i] == owner[j]:
                both = evidence(pooled(moments[j], moments[i]))
                cost[j, i] = both - weigh[j] - weigh[i]
    for _ in range(K - most):
        a, b = divmod(np.argmin(cost), K)  # a < b
        if np.isinf(cost[a, b]):
            break
        moments[a], live[b] = pooled(moments[a], moments[b]), False
        weigh[a] = evidence(moments[a])
        cost[b], cost[:, b] = np.inf, np.inf
        for k in range(K):
            if live[k] and k != a and owner[k] == owner[a]:
                both = evidence(pooled(moments[a], moments[k]))
                first, second = (a, k) if a < k else (k, a)
                cost[first, second] = both - weigh[a] - weigh[k]
    return live
