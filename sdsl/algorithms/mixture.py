"""Gaussian mixtures of labelled components and their EM with priors, M mixtures side by side.

p(x, c) = sum_{k of class c} w_k N(x; m_k, S_k). A round of EM from a prediction (m0, S0, w0, P0):
r_ik ~ w_k N(x_i; m_k, S_k);  n_k = sum_i r_ik;  m_k = (a m0_k + sum_i r_ik x_i) / (a + n_k);
P = ridge of the scatters A_k of all components and of P0;  w_k = (n_k + b n w0_k) / (n + b n);
S_k = (n w0_k S0_k + A_k + d P) / (n w0_k + n_k + d), or P for all (tied), or variances alone.
"""

import math
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from torch import Tensor

from sdsl.algorithms.exponential import exp
from sdsl.algorithms.gaussians import Around, log_weighted, moments, scatters
from sdsl.core.compiled import compiled

SETTLED = 0.01  # standard deviations of a component, by the root of its share
LEAST = 1e-4  # share that a component never falls below, so that its class can come back
NO = -1e300  # log of a weight of nothing, safe to add


@dataclass(frozen=True)
class Mixture:
    """M mixtures of K components; a component that is padding weighs 0."""

    mean: Tensor  # [M, K, d]
    cov: Tensor  # full [M, K, d, d], tied [M, 1, d, d] or diagonal [M, K, d]
    weight: Tensor  # [M, K]
    pooled: Tensor  # [M, d, d] or [M, d]
    owner: Tensor  # [M, K] the class of each component

    @property
    def form(self) -> str:
        if self.cov.dim() == 3:
            return "diagonal"
        return "full" if self.cov.shape[1] == self.mean.shape[1] else "tied"

    def pick(self, m: int) -> "Mixture":
        """Mixture m alone, copied."""
        return Mixture(*(getattr(self, f.name)[m : m + 1].clone() for f in fields(self)))


@dataclass(frozen=True)
class Priors:
    """What the prediction weighs in a round."""

    mean: float  # a: rows that the predicted mean stands for
    share: float | Tensor  # b: segments that the last shares stand for; [M]: each mixture's own
    memory: float  # segments that the last covariances stand for
    floor: float  # added to every variance


def log_joint(mix: Mixture, X: Tensor) -> Tensor:
    """log w_k N(x_i; m_k, S_k) of rows X [n, d]: [M, n, K]."""
    # Rows lie next to each other: K is small, n is not.
    return log_weighted(X, mix.weight, mix.mean, mix.cov).mT


def log_density(mix: Mixture, X: Tensor) -> Tensor:
    """log p(x_i): [M, n]."""
    joint = log_joint(mix, X)
    return by_class(joint, torch.zeros_like(mix.owner), 1).squeeze(2)


def by_class(joint: Tensor, owner: Tensor, classes: int) -> Tensor:
    """log p(x, c) from components' [..., n, K] with classes owner [..., K]: [..., n, C].

    A class without a component has -inf.
    """
    *lead, n, K = joint.shape
    owners = owner.expand(*lead, K).reshape(-1, K).contiguous().numpy()
    out = log_by_class(flat(joint.mT), owners, classes)
    return torch.from_numpy(out).view(*lead, classes, n).mT


def responsibilities(joint: Tensor, owner: Tensor, q: Tensor | None) -> Tensor:
    """r_ik [M, n, K]; where class posteriors q [n, C] are given, shared out within each class."""
    owners = owner.contiguous().numpy()
    if q is None:
        return torch.from_numpy(shared(flat(joint.mT), np.zeros_like(owners), 1)).mT
    r = shared(flat(joint.mT), owners, q.shape[1])
    spread(r, owners, q.mT.contiguous().numpy())
    return torch.from_numpy(r).mT


def flat(joint: Tensor) -> np.ndarray:
    """[..., K, n] as [M, K, n], rows next to each other."""
    M = math.prod(joint.shape[:-2])  # also where there are no rows
    return joint.reshape(M, *joint.shape[-2:]).contiguous().numpy()


@compiled
def log_by_class(joint: np.ndarray, owner: np.ndarray, classes: int) -> np.ndarray:
    """log sum_{k of c} exp joint_k of joint [M, K, n]: [M, C, n]."""
    M, K, n = joint.shape
    top, total = np.full((M, classes, n), NO), np.zeros((M, classes, n))
    for m in range(M):
        for k in range(K):
            best, here = top[m, owner[m, k]], joint[m, k]
            for i in range(n):
                best[i] = here[i] if here[i] > best[i] else best[i]
        for k in range(K):
            best, here, add = top[m, owner[m, k]], joint[m, k], total[m, owner[m, k]]
            for i in range(n):
                add[i] += exp(here[i] - best[i])
    return np.log(total) + top


@compiled
def shared(joint: np.ndarray, group: np.ndarray, groups: int) -> np.ndarray:
    """exp joint_k / sum_{l of k's group} exp joint_l of joint [M, K, n], group [M, K]."""
    M, K, n = joint.shape
    r, top, total = np.empty((M, K, n)), np.empty((groups, n)), np.empty((groups, n))
    for m in range(M):
        top[:], total[:] = NO, 0.0
        for k in range(K):
            best, here = top[group[m, k]], joint[m, k]
            for i in range(n):
                best[i] = here[i] if here[i] > best[i] else best[i]
        for k in range(K):
            best, here, mine, add = top[group[m, k]], joint[m, k], r[m, k], total[group[m, k]]
            for i in range(n):
                mine[i] = exp(here[i] - best[i])
                add[i] += mine[i]
        for k in range(K):
            mine, add = r[m, k], total[group[m, k]]
            for i in range(n):
                mine[i] /= add[i] if add[i] > 0 else 1.0
    return r


@compiled
def spread(r: np.ndarray, owner: np.ndarray, q: np.ndarray) -> None:
    """r_ik times the posterior q [C, n] of k's class."""
    for m in range(r.shape[0]):
        for k in range(r.shape[1]):
            for i in range(r.shape[2]):
                r[m, k, i] *= q[owner[m, k], i]


def ridge(P: Tensor, N: float, floor: float, diagonal: bool) -> Tensor:
    """P [..., d, d] shrunk to a sphere as if d / 2 of its N rows were; or variances [..., d]."""
    d = P.shape[-1]
    if diagonal:
        return (N * P + 0.5 * d * P.mean(-1, keepdim=True)) / (N + 0.5 * d) + floor
    eye = torch.eye(d, dtype=P.dtype)
    sphere = P.diagonal(dim1=-2, dim2=-1).mean(-1)[..., None, None] * eye
    return (N * P + 0.5 * d * sphere) / (N + 0.5 * d) + floor * eye


def update(start: Mixture, r: Tensor, rows: Around, priors: Priors) -> Mixture:
    """The M-step: what r [M, n, K] makes of the prediction `start`."""
    (n, d), flat = rows.x.shape, start.form == "diagonal"
    share = torch.as_tensor(priors.share, dtype=r.dtype).expand(len(r))
    if rows.terms is not None and start.form == "full":
        given = r.mT, rows.terms, rows.c, start.mean, start.cov, start.weight, start.pooled
        arrays = (a.contiguous().numpy() for a in (*given, share))
        found = m_step(*arrays, priors.mean, priors.memory, priors.floor)
        mean, cov, weight, pooled = (torch.from_numpy(a) for a in found)
        return Mixture(mean, cov, weight, pooled, start.owner)
    count, first = moments(rows, r)
    mean = first + priors.mean * (start.mean - rows.c)
    mean = rows.c + mean / (count + priors.mean)[:, :, None]
    A = scatters(rows, r, count, first, mean, start.form)
    old, size = n * start.weight, n * (1 + priors.memory)
    pooled = (priors.memory * n * start.pooled + A.sum(1)) / size
    pooled = ridge(pooled, size, priors.floor, flat)
    cov = pooled[:, None]
    if start.form != "tied":
        to, kept = (..., *[None] * (A.dim() - 2)), priors.memory * old
        cov = (kept[to] * start.cov + A + d * cov) / (kept + count + d)[to]
    b = share[:, None]
    weight = (count + b * old) / (n * (1 + b)) + LEAST * (old > 0)
    weight = weight / weight.sum(1, keepdim=True)
    return replace(start, mean=mean, cov=cov, weight=weight, pooled=pooled)


@compiled
def m_step(
    r: np.ndarray,
    terms: np.ndarray,
    c: np.ndarray,
    mean0: np.ndarray,
    cov0: np.ndarray,
    weight0: np.ndarray,
    pooled0: np.ndarray,
    b: np.ndarray,
    a: float,
    memory: float,
    floor: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(means, covariances, weights, pooled) from r [M, K, n] and rows' terms [n, p] around c."""
    (M, K, d), n = mean0.shape, len(terms)
    sums = np.dot(r.reshape(M * K, n), terms).reshape(M, K, -1)  # of r x x', r x and r
    mean, cov, weight = np.empty(mean0.shape), np.empty(cov0.shape), np.empty(weight0.shape)
    pooled, m, size = np.empty(pooled0.shape), np.empty(d), n * (1 + memory)
    for h in range(M):
        A, P = cov[h], pooled[h]
        P[:] = memory * n * pooled0[h]
        for k in range(K):
            second, first, count = sums[h, k], sums[h, k, -1 - d : -1], sums[h, k, -1]
            for i in range(d):
                m[i] = (first[i] + a * (mean0[h, k, i] - c[i])) / (count + a)
                mean[h, k, i] = c[i] + m[i]
            for i in range(d):
                for j in range(d):
                    cross = first[i] * m[j] + m[i] * first[j]
                    below, right = max(i, j), min(i, j)
                    square = second[below * (below + 1) // 2 + right]
                    A[k, i, j] = square - cross + count * m[i] * m[j]
                    P[i, j] += A[k, i, j]
        sphere = np.trace(P) / d
        for i in range(d):
            for j in range(d):
                P[i, j] /= size + 0.5 * d
            P[i, i] += 0.5 * d * sphere / size / (size + 0.5 * d) + floor
        for k in range(K):
            kept, count = memory * n * weight0[h, k], sums[h, k, -1]
            for i in range(d):
                for j in range(d):
                    new = kept * cov0[h, k, i, j] + A[k, i, j] + d * P[i, j]
                    A[k, i, j] = new / (kept + count + d)
            weight[h, k] = (count + b[h] * n * weight0[h, k]) / (n * (1 + b[h]))
            weight[h, k] += LEAST if weight0[h, k] > 0 else 0.0
        weight[h] /= weight[h].sum()
    return mean, cov, weight, pooled


def fit(start: Mixture, X: Tensor, priors: Priors, rounds: int, q: Tensor | None) -> Mixture:
    """EM from the prediction; q [n, C] fixes the class posteriors (labelled rows, or hold)."""
    return counted_fit(start, X, priors, rounds, q)[0]


def counted_fit(
    start: Mixture, X: Tensor, priors: Priors, rounds: int, q: Tensor | None
) -> tuple[Mixture, int]:
    """(what `fit` gives, the rounds that it took): at most `rounds`, the same for all M mixtures.

    It ends early where no component moves by more than SETTLED.
    """
    mix, rows, taken = start, Around.mean_of(X), 0
    while taken < rounds:
        taken += 1
        r = responsibilities(log_joint(mix, X), mix.owner, q)
        last, mix = mix, update(start, r, rows, priors)
        P = mix.pooled if mix.form == "diagonal" else mix.pooled.diagonal(dim1=1, dim2=2)
        way = ((mix.mean - last.mean).square() / P[:, None]).sum(2)  # [M, K]
        if float((mix.weight * way).max()) < SETTLED**2:
            break
    return mix, taken
