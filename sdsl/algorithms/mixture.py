"""Gaussian mixtures of labelled components and their EM with priors, M mixtures side by side.

p(x, c) = sum_{k of class c} w_k N(x; m_k, S_k). A round of EM from a prediction (m0, S0, w0, P0):
r_ik ~ w_k N(x_i; m_k, S_k);  n_k = sum_i r_ik;  m_k = (a m0_k + sum_i r_ik x_i) / (a + n_k);
P = ridge of the scatters A_k of all components and of P0;  w_k = (n_k + b n w0_k) / (n + b n);
S_k = (n w0_k S0_k + A_k + d P) / (n w0_k + n_k + d), or P for all (tied), or variances alone.
"""

from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from sdsl.algorithms.gaussians import Around, log_weighted, moments, scatters

SETTLED = 0.01  # standard deviations of a component, by the root of its share
LEAST = 1e-4  # share that a component never falls below, so that its class can come back


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
    share: float  # b: segments that the last shares stand for
    memory: float  # segments that the last covariances stand for
    floor: float  # added to every variance


def log_joint(mix: Mixture, X: Tensor) -> Tensor:
    """log w_k N(x_i; m_k, S_k) of rows X [n, d]: [M, n, K]."""
    return joint_of(mix, Around.mean_of(X))


def joint_of(mix: Mixture, rows: Around) -> Tensor:
    """The same of rows that are asked for more than once."""
    # Rows lie next to each other: K is small, n is not.
    return log_weighted(rows, mix.weight, mix.mean, mix.cov).mT


def by_class(joint: Tensor, owner: Tensor, classes: int) -> Tensor:
    """log p(x, c) from components' [..., n, K] with classes owner [..., K]: [..., n, C].

    A class without a component has -inf.
    """
    index = owner.unsqueeze(-2).expand_as(joint)
    out = joint.new_full((*joint.shape[:-1], classes), -torch.inf)
    best = out.scatter_reduce(-1, index, joint, "amax").clamp(min=-1e300)
    e = (joint - best.gather(-1, index)).exp()
    return torch.zeros_like(out).scatter_add(-1, index, e).log() + best


def responsibilities(joint: Tensor, owner: Tensor, q: Tensor | None) -> Tensor:
    """r_ik [M, n, K]; where class posteriors q [n, C] are given, shared out within each class."""
    if q is None:
        return joint.mT.softmax(1).mT
    index = owner[:, None].expand_as(joint)
    within = joint - by_class(joint, owner, q.shape[1]).clamp(min=-1e300).gather(2, index)
    return within.exp() * q.expand(len(joint), -1, -1).gather(2, index)


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
    (n, d), flat, sums = rows.x.shape, start.form == "diagonal", moments(rows, r)
    count, first, _ = sums
    mean = first + priors.mean * (start.mean - rows.c)
    mean = rows.c + mean / (count + priors.mean)[:, :, None]
    A = scatters(rows, r, sums, mean, start.form)
    old, size = n * start.weight, n * (1 + priors.memory)
    pooled = (priors.memory * n * start.pooled + A.sum(1)) / size
    pooled = ridge(pooled, size, priors.floor, flat)
    cov = pooled[:, None]
    if start.form != "tied":
        to, kept = (..., *[None] * (A.dim() - 2)), priors.memory * old
        cov = (kept[to] * start.cov + A + d * cov) / (kept + count + d)[to]
    weight = (count + priors.share * old) / (n * (1 + priors.share)) + LEAST * (old > 0)
    weight = weight / weight.sum(1, keepdim=True)
    return replace(start, mean=mean, cov=cov, weight=weight, pooled=pooled)


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
        r = responsibilities(joint_of(mix, rows), mix.owner, q)
        last, mix = mix, update(start, r, rows, priors)
        P = mix.pooled if mix.form == "diagonal" else mix.pooled.diagonal(dim1=1, dim2=2)
        way = ((mix.mean - last.mean).square() / P[:, None]).sum(2)  # [M, K]
        if float((mix.weight * way).max()) < SETTLED**2:
            break
    return mix, taken
