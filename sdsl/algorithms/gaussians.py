"""Many Gaussians at once: log w N(x; m, S), and the moments of rows that EM asks for.

With few features densities are a loop over rows, and moments one matrix product with the rows'
terms x x', x and 1, taken around their mean, so that little cancels.
"""

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.core.compiled import compiled

LOG_2PI = 1.8378770664093453
FEW = 16  # features up to which products with terms, and loops, pay
CHUNK = 512  # rows at a time: they stay in cache


@dataclass(frozen=True)
class Around:
    """Rows x [n, d] around their mean c [d]; terms if d is few: lower half of x x', x and 1."""

    c: Tensor
    x: Tensor
    terms: Tensor | None

    @classmethod
    def mean_of(cls, X: Tensor) -> "Around":
        c = X.mean(0)
        x = X - c
        if X.shape[1] > FEW:
            return cls(c, x, None)
        i, j = torch.tril_indices(len(c), len(c))
        return cls(c, x, torch.cat([x[:, i] * x[:, j], x, torch.ones_like(x[:, :1])], 1))


def roots(cov: Tensor) -> tuple[Tensor, Tensor]:
    """Cholesky factors L of covariances [..., d, d] and their inverses."""
    d = cov.shape[-1]
    L, W = cholesky(cov.reshape(-1, d, d).contiguous().numpy())
    return torch.from_numpy(L).view(cov.shape), torch.from_numpy(W).view(cov.shape)


@compiled
def cholesky(cov: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """L and L^-1, L L' = cov [N, d, d]; what rounding has made indefinite is lifted until it is."""
    N, d = len(cov), cov.shape[1]
    roots, inverses = np.zeros((N, d, d)), np.zeros((N, d, d))
    column = np.empty(d)
    for k in range(N):
        L, W = roots[k], inverses[k]
        lift, done = 0.0, False
        while not done:
            size = 0.0
            for i in range(d):
                size += abs(cov[k, i, i]) / d
                L[i, : i + 1] = cov[k, i, : i + 1]
            for i in range(d):
                L[i, i] += lift * size + (1e-300 if lift > 0 else 0.0)
            done = True
            for j in range(d):
                if L[j, j] <= 0:
                    done = False
                    break
                L[j, j] = math.sqrt(L[j, j])
                for i in range(j + 1, d):
                    L[i, j] /= L[j, j]
                    column[i] = L[i, j]
                    for a in range(j + 1, i + 1):
                        L[i, a] -= column[i] * column[a]
            lift = 10 * lift if lift > 0 else 1e-9
        for i in range(d):
            for j in range(i):
                for a in range(j + 1):
                    W[i, a] -= L[i, j] * W[j, a]
            for a in range(i):
                W[i, a] /= L[i, i]
            W[i, i] = 1 / L[i, i]
    return roots, inverses


def log_weighted(X: Tensor, weight: Tensor, mean: Tensor, cov: Tensor) -> Tensor:
    """log w_k N(x_i; m_k, S_k) of weights [M, K], means [M, K, d], any form of cov: [M, K, n]."""
    d = mean.shape[2]
    level = weight.log() - 0.5 * d * LOG_2PI  # [M, K]
    if cov.dim() == 3:
        c = X.mean(0)  # so that little cancels
        x, m = X - c, mean - c
        far = (1 / cov) @ x.square().T - 2 * (m / cov) @ x.T
        far = (far + (m.square() / cov).sum(2)[..., None]).clamp(min=0)
        return (level - 0.5 * cov.log().sum(2))[..., None] - 0.5 * far
    if d <= FEW:
        given = (X.T, level, mean, cov)
        return torch.from_numpy(log_gaussians(*(a.contiguous().numpy() for a in given)))
    _, W = roots(cov)
    level = level + W.diagonal(dim1=2, dim2=3).log().sum(2)
    c = X.mean(0)
    x, m = X - c, mean - c
    if cov.shape[1] == 1:  # one form for all: rows and means are whitened once
        z, at = (x @ W[:, 0].mT).mT, m @ W[:, 0].mT  # [M, d, n], [M, K, d]
        far = z.square().sum(1)[:, None] - 2 * at @ z + at.square().sum(2)[..., None]
        return level[..., None] - 0.5 * far.clamp(min=0)
    gap = W @ x.T - W @ m[..., None]  # [M, K, d, n]
    return level[..., None] - 0.5 * gap.square().sum(2)


@compiled
def log_gaussians(X: np.ndarray, level: np.ndarray, mean: np.ndarray, S: np.ndarray) -> np.ndarray:
    """level + log |W| - |W (x - m)|^2 / 2 of rows X [d, n], W'W = S^-1: [M, K, n].

    S [M, K or 1, d, d]; level [M, K], -inf for padding.
    """
    (M, K, d), n = mean.shape, X.shape[1]
    W = cholesky(S.reshape(-1, d, d))[1].reshape(S.shape)
    level = level.copy()
    for m in range(M):
        for k in range(K):
            for a in range(d):
                level[m, k] += math.log(W[m, k if W.shape[1] > 1 else 0, a, a])
    out, gap, z = np.zeros((M, K, n)), np.empty((d, CHUNK)), np.empty(CHUNK)
    for low in range(0, n, CHUNK):
        size = min(CHUNK, n - low)
        for m in range(M):
            for k in range(K):
                if level[m, k] == -np.inf:  # padding
                    out[m, k, low : low + size] = -np.inf
                    continue
                far, way = out[m, k, low : low + size], W[m, k if W.shape[1] > 1 else 0]
                for a in range(d):
                    row, at, mine = X[a, low : low + size], mean[m, k, a], gap[a]
                    for i in range(size):
                        mine[i] = row[i] - at
                    by = way[a, a]
                    for i in range(size):
                        z[i] = by * mine[i]
                    for b in range(a):
                        by, other = way[a, b], gap[b]
                        for i in range(size):
                            z[i] += by * other[i]
                    for i in range(size):
                        far[i] += z[i] * z[i]
                for i in range(size):
                    far[i] = level[m, k] - 0.5 * far[i]
    return out


def moments(rows: Around, r: Tensor) -> tuple[Tensor, Tensor]:
    """sum_i r_ik [M, K] and sum_i r_ik x_i [M, K, d]."""
    return r.sum(1), r.mT @ rows.x


def scatters(
    rows: Around, r: Tensor, count: Tensor, first: Tensor, mean: Tensor, form: str
) -> Tensor:
    """A_k = sum_i r_ik (x_i - m_k)(x_i - m_k)' from r's moments: [M, K, d, d].

    Form "diagonal": the diagonals, [M, K, d]. Form "tied": the sum over k, [M, 1, d, d].
    """
    x, m, n = rows.x, mean - rows.c, count[..., None]
    if form == "diagonal":
        return (r.mT @ x.square() - 2 * m * first + n * m.square()).clamp(min=0)
    if form == "tied":
        cross = first.mT @ m
        return ((x * r.sum(2)[..., None]).mT @ x - cross - cross.mT + (n * m).mT @ m)[:, None]
    gap = x - m[:, :, None]  # [M, K, n, d]
    return (gap * r.mT[..., None]).mT @ gap
