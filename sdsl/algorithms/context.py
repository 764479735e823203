"""Prediction of a batch in context: which times of the past, or the present, explain its rows?

Candidates are the present, with prior probability lambda, and U times u of memory that share the
rest. One time for all rows: w_u ~ prior_u prod_i p(x_i | u)^(min(n, TRUST) / n); the power keeps
many rows from shouting down what a crude density cannot know. Several times in one batch: weights w
that maximise sum_i log sum_u w_u p(x_i | u), by EM, taken where they explain a row better by MARGIN
on average. Labels: argmax_c sum_u w_u p(x, c | u).
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.algorithms.exponential import exp
from sdsl.algorithms.gaussians import LOG_2PI
from sdsl.algorithms.memory import Clusters
from sdsl.algorithms.recall import Recall, shares
from sdsl.core.compiled import compiled

TIMES = 64  # at most, evenly spread over the past
SEARCH = 24  # rows of a batch that choose the likely times; all rows decide between these
LIKELY = 6  # times that all rows of a batch see
NEGLIGIBLE = -9.0  # log share at a time from which on a cluster is left out
TRUST = 30.0  # rows at most that the evidence of a batch counts for
MARGIN = 0.2  # nats per row by which several times must explain a batch better than one
ROUNDS = 8  # of EM
NO = -1e300  # log of a weight of nothing, safe to add


@dataclass(frozen=True)
class Grid:
    """The clusters that matter at U times u: J of them at each."""

    recall: Recall
    index: np.ndarray  # [U, J] of clusters
    level: np.ndarray  # [U, J] the part of log w_k(u) N(z; ...) that does not depend on z
    ahead: np.ndarray  # [U, J] u - tau_k
    owner: np.ndarray  # [U, J]
    prior: np.ndarray  # [1 + U] log, of the present and of each time

    @classmethod
    def of(cls, c: Clusters, log_det: Tensor, last: float, present: float) -> "Grid":
        """log_det: of the way from rows to the space of the clusters."""
        times = torch.linspace(0, last, int(min(last + 1, TIMES)), dtype=torch.float64)
        share, recall = shares(c, times), Recall.of(c)
        J = int((share > NEGLIGIBLE).sum(1).max())
        share, index = share.topk(J, dim=1)
        ahead = times[:, None] - c.tau[index]
        fixed = recall.log_det + c.m.shape[1] * LOG_2PI
        level = share - 0.5 * (ahead.square() * recall.pull[index] + fixed[index]) + log_det
        prior = share.new_full((len(times) + 1,), (1 - present) / len(times))
        prior[0] = present
        known = (index, level, ahead, c.owner[index], prior.log().clamp(min=NO))
        return cls(recall, *(a.numpy() for a in known))


def in_context(now: Tensor, grid: Grid, Z: Tensor) -> Tensor:
    """log p(x, c) of B batches of n rows: now [B, n, C] is log p_now, Z [B, n, d]; [B, n, C]."""
    now = now.mT.contiguous()  # [B, C, n]
    some = np.linspace(0, now.shape[2] - 1, min(now.shape[2], SEARCH)).round().astype(np.int64)
    far, along = grid.recall.products(Z.flatten(0, 1))
    places = grid.index, grid.level, grid.ahead, grid.owner
    out = weighed(now.numpy(), far, along, *places, grid.prior, some, LIKELY)
    return torch.from_numpy(out).mT


@compiled
def weighed(
    now: np.ndarray,
    far: np.ndarray,
    along: np.ndarray,
    index: np.ndarray,
    level: np.ndarray,
    ahead: np.ndarray,
    owner: np.ndarray,
    prior: np.ndarray,
    some: np.ndarray,
    likely: int,
) -> np.ndarray:
    """log p(x, c) [B, C, n] from log p_now [B, C, n] and the products [K, B n] of a grid."""
    (B, C, n), U, m = now.shape, len(index), len(some)
    H, out, like, each = min(likely, U), np.empty((B, C, n)), np.empty((1 + U, m)), np.empty(1 + U)
    top, total = np.empty((1 + H, n)), np.empty((1 + H, C, n))
    few, parts = np.empty(m), np.empty((C, m))
    for b in range(B):
        # Some rows choose among all times.
        begin, end = b * n, (b + 1) * n
        relative(now[b][:, some], few, parts)
        like[0] = log_of(few, parts)
        g, h = far[:, begin + some], along[:, begin + some]
        for u in range(U):
            summed(g, h, index[u], level[u], ahead[u], owner[u], few, parts)
            like[1 + u] = log_of(few, parts)
        one, many = posterior(like, prior, n), several(like, prior)
        mixed = (explained(like, many) - explained(like, one)).mean() > MARGIN
        each[:] = many if mixed else one
        # All rows decide between the likely ones.
        best = np.concatenate((np.zeros(1, np.int64), 1 + np.argsort(-each[1:])[:H]))
        relative(now[b], top[0], total[0])
        g, h = far[:, begin:end], along[:, begin:end]
        for i, u in enumerate(best[1:] - 1):
            summed(g, h, index[u], level[u], ahead[u], owner[u], top[1 + i], total[1 + i])
        weight = each[best]
        if not mixed:
            all_rows = np.empty((1 + H, n))
            for i in range(1 + H):
                all_rows[i] = log_of(top[i], total[i])
            weight = posterior(all_rows, prior[best], n)
        mixture_of(weight, top, total, out[b])
    return out


@compiled
def relative(joint: np.ndarray, top: np.ndarray, total: np.ndarray) -> None:
    """exp joint_c = total_c exp(top) of joint [C, n], top [n] being its maximum over c."""
    top[:] = NO
    for c in range(joint.shape[0]):
        for i in range(joint.shape[1]):
            top[i] = joint[c, i] if joint[c, i] > top[i] else top[i]
    for c in range(joint.shape[0]):
        for i in range(joint.shape[1]):
            total[c, i] = exp(joint[c, i] - top[i])


@compiled
def summed(
    far: np.ndarray,
    along: np.ndarray,
    index: np.ndarray,
    level: np.ndarray,
    ahead: np.ndarray,
    owner: np.ndarray,
    top: np.ndarray,
    total: np.ndarray,
) -> None:
    """p(x, c | u) = total_c exp(top) = sum_{k of c} w_k(u) N(z; m_k(u), R_k), as in `relative`."""
    J, n = len(index), len(top)
    joint = np.empty((J, n))
    top[:], total[:] = NO, 0.0
    for j in range(J):
        here, g, h, low, by = joint[j], far[index[j]], along[index[j]], level[j], ahead[j]
        for i in range(n):
            here[i] = low + by * h[i] - 0.5 * g[i]
            top[i] = here[i] if here[i] > top[i] else top[i]
    for j in range(J):
        here, add = joint[j], total[owner[j]]
        for i in range(n):
            add[i] += exp(here[i] - top[i])


@compiled
def log_of(top: np.ndarray, total: np.ndarray) -> np.ndarray:
    """log sum_c total_c exp(top): [n]."""
    out = np.zeros(len(top))
    for c in range(total.shape[0]):
        out += total[c]
    return np.log(out) + top


@compiled
def posterior(like: np.ndarray, prior: np.ndarray, n: int) -> np.ndarray:
    """log w [U] if all rows are of one time: like [U, m] of rows that stand for n."""
    w = prior.copy()
    for u in range(len(w)):
        w[u] += np.maximum(like[u], NO).mean() * min(n, TRUST)
    w -= w.max()
    return w - math.log(np.exp(w).sum())


@compiled
def several(like: np.ndarray, prior: np.ndarray) -> np.ndarray:
    """log w [U] that maximise sum_i log sum_u w_u p(x_i | u) + sum_u prior_u log w_u, by EM."""
    U, m = like.shape
    top, P, by_row = np.full(m, NO), np.empty((U, m)), np.empty((m, U))
    for u in range(U):
        top = np.maximum(top, like[u])
    for u in range(U):
        for i in range(m):
            P[u, i] = exp(like[u, i] - top[i])
            by_row[i, u] = P[u, i]
    start = np.exp(prior)
    w, each, gain = start.copy(), np.empty(m), np.empty(U)
    for _ in range(ROUNDS):
        each[:], gain[:] = 0.0, 0.0
        for u in range(U):
            for i in range(m):
                each[i] += w[u] * P[u, i]
        for i in range(m):
            inverse = 1 / max(each[i], 1e-300)
            for u in range(U):
                gain[u] += by_row[i, u] * inverse
        for u in range(U):
            w[u] = (start[u] + w[u] * gain[u]) / (1 + m)
    return np.maximum(np.log(w), NO)


@compiled
def explained(like: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """log sum_u w_u p(x_i | u): [m]."""
    U, m = like.shape
    top, total = np.full(m, 2 * NO), np.zeros(m)
    for u in range(U):
        top = np.maximum(top, np.maximum(like[u], NO) + weight[u])
    for u in range(U):
        for i in range(m):
            total[i] += exp(max(like[u, i], NO) + weight[u] - top[i])
    return np.log(total) + top


@compiled
def mixture_of(weight: np.ndarray, top: np.ndarray, total: np.ndarray, out: np.ndarray) -> None:
    """out_c = log sum_u w_u total_uc exp(top_u) of log weights [U], top [U, n], total [U, C, n]."""
    U, C, n = total.shape
    best = np.full(n, 2 * NO)
    out[:] = 0.0
    for u in range(U):
        best = np.maximum(best, weight[u] + top[u])
    for u in range(U):
        part = np.empty(n)
        for i in range(n):
            part[i] = exp(weight[u] + top[u, i] - best[i])
        for c in range(C):
            for i in range(n):
                out[c, i] += part[i] * total[u, c, i]
    for c in range(C):
        out[c] = np.log(out[c]) + best
