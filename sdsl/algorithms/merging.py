"""Mergers that keep memory within its budget: two clusters of a class, where it costs least.

Cost of i and j (Runnalls 2007): 1/2 (n log|S| - n_i log|S_i| - n_j log|S_j|), n = n_i + n_j, with
log|S| = sum log R + .1 log(v + 1/12): what the motion leaves of the variances, and a little time.
"""

import torch
from torch import Tensor

from sdsl.algorithms.memory import FLOOR, WITHIN, Clusters

TIME = 0.1  # what the spread in time counts


def merged(a: Clusters, b: Clusters) -> Clusters:
    """The moments of both, pair by pair; one cluster may meet many."""
    n = a.n + b.n
    g = (b.n / n)[:, None]
    gap = b.moments - a.moments
    dt, dm = gap[:, 1:2], gap[:, 3 : 3 + a.m.shape[1]]
    moments = a.moments + g * gap  # the means, and the mean of the variances
    between = torch.cat([dt.square(), 0 * dm, dm.square(), dm * dt], 1)
    moments[:, 2:] += g * (1 - g) * between
    moments[:, 0] = n
    return Clusters(b.owner, moments)


def evidence(n: Tensor, v: Tensor, rest: Tensor) -> Tensor:
    """n/2 log|S|: [K]."""
    return 0.5 * n * (rest.clamp(FLOOR).log().sum(1) + TIME * (v + WITHIN).log())


def evidence_of_pairs(c: Clusters, i: Tensor, j: Tensor) -> Tensor:
    """The same of clusters i and j merged, without making them: [pairs]."""
    (m, V, s), n = c.wide, c.n[i] + c.n[j]
    g, dt = c.n[j] / n, c.tau[j] - c.tau[i]
    v = torch.lerp(c.v[i], c.v[j], g) + g * (1 - g) * dt.square()
    g, dt = g[:, None], dt[:, None]
    dm, between = m[j] - m[i], g * (1 - g)
    both_s = torch.lerp(s[i], s[j], g).addcmul_(dm, between * dt)
    both_V = torch.lerp(V[i], V[j], g).addcmul_(dm.square_(), between)
    rest = both_V.addcdiv_(both_s.square_(), v.clamp(min=1e-12)[:, None], value=-1)
    return evidence(n, v, rest)


def reduced(c: Clusters, most: int) -> Clusters:
    """At most `most` clusters: mergers of least cost; where no pair is left, the lightest go."""
    K = len(c)
    if most >= K:
        return c
    owner, moments, weigh = c.owner, c.moments.clone(), evidence(c.n, c.v, c.rest)
    i, j = torch.triu_indices(K, K, 1)
    same = owner[i] == owner[j]
    i, j = i[same], j[same]
    cost = moments.new_full((K, K), torch.inf)
    cost[i, j] = evidence_of_pairs(c, i, j) - weigh[i] - weigh[j]
    live = torch.ones(K, dtype=torch.bool)
    for _ in range(K - most):
        a, b = divmod(int(cost.argmin()), K)  # a < b
        if torch.isinf(cost[a, b]):
            break
        one = merged(Clusters(owner[a : a + 1], moments[a : a + 1]), c.pick(torch.tensor([b])))
        moments[a], weigh[a], live[b] = one.moments[0], evidence(one.n, one.v, one.rest)[0], False
        c = Clusters(owner, moments)
        cost[b], cost[:, b] = torch.inf, torch.inf
        others = live & (owner == owner[a])
        others[a] = False
        k = others.nonzero().squeeze(1)
        new = evidence_of_pairs(c, torch.full_like(k, a), k) - weigh[a] - weigh[k]
        cost[k.clamp(max=a), k.clamp(min=a)] = new
    kept = live.nonzero().squeeze(1)
    if len(kept) > most:
        kept = kept[c.n[kept].argsort(descending=True, stable=True)[:most]].sort().values
    return c.pick(kept)
