"""Many Gaussians at once: log w N(x; m, S), and the moments of rows that EM asks for.

With few features both are one matrix product with the rows' terms x x', x and 1, which is several
times faster than one triangular solve a component. Rows are taken around their mean, so that little
cancels.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

LOG_2PI = 1.8378770664093453
FEW = 16  # features up to which the products pay


@dataclass(frozen=True)
class Around:
    """Rows around their mean c [d]: x [n, d]; terms: x x', x and 1 [n, d d + d + 1] if d is few."""

    c: Tensor
    x: Tensor
    terms: Tensor | None

    @classmethod
    def mean_of(cls, X: Tensor) -> "Around":
        c = X.mean(0)
        x = X - c
        if X.shape[1] > FEW:
            return cls(c, x, None)
        square = (x[:, :, None] * x[:, None]).flatten(1)
        return cls(c, x, torch.cat([square, x, torch.ones_like(x[:, :1])], 1))


def root(cov: Tensor) -> Tensor:
    """Cholesky factors; what rounding has made indefinite is lifted until it has one."""
    L, failed = torch.linalg.cholesky_ex(cov)
    lift = 1e-9
    while failed.any():
        size = lift * cov.diagonal(dim1=-2, dim2=-1).abs().mean(-1)[..., None, None] + 1e-300
        L, failed = torch.linalg.cholesky_ex(cov + size * torch.eye(cov.shape[-1]).to(cov))
        lift *= 10
    return L


def log_weighted(rows: Around, weight: Tensor, mean: Tensor, cov: Tensor) -> Tensor:
    """log w_k N(x_i; m_k, S_k) of weights [M, K], means [M, K, d], any form of cov: [M, K, n]."""
    x, m, d = rows.x, mean - rows.c, mean.shape[2]
    level = weight.log() - 0.5 * d * LOG_2PI  # [M, K]
    if cov.dim() == 3:
        far = (1 / cov) @ x.square().T - 2 * (m / cov) @ x.T
        far = (far + (m.square() / cov).sum(2)[..., None]).clamp(min=0)
        return (level - 0.5 * cov.log().sum(2))[..., None] - 0.5 * far
    L = root(cov)
    level = level - L.diagonal(dim1=2, dim2=3).log().sum(2)
    W = torch.linalg.solve_triangular(L, torch.eye(d, dtype=L.dtype).expand_as(L), upper=False)
    if rows.terms is not None:
        Q = (W.mT @ W).expand(*m.shape, d)  # S^-1
        Qm = (Q @ m[..., None]).squeeze(3)
        level = level - 0.5 * (Qm * m).sum(2)
        return torch.cat([-0.5 * Q.flatten(2), Qm, level[..., None]], 2) @ rows.terms.T
    if cov.shape[1] == 1:  # one form for all: rows and means are whitened once
        z, at = (x @ W[:, 0].mT).mT, m @ W[:, 0].mT  # [M, d, n], [M, K, d]
        far = z.square().sum(1)[:, None] - 2 * at @ z + at.square().sum(2)[..., None]
        return level[..., None] - 0.5 * far.clamp(min=0)
    gap = W @ x.T - W @ m[..., None]  # [M, K, d, n]
    return level[..., None] - 0.5 * gap.square().sum(2)


def moments(rows: Around, r: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
    """sum_i r_ik [M, K], sum_i r_ik x_i [M, K, d], sum_i r_ik x_i x_i' [M, K, d, d] if d is few."""
    d = rows.x.shape[1]
    if rows.terms is None:
        return r.sum(1), r.mT @ rows.x, None
    second, first, count = (r.mT @ rows.terms).split([d * d, d, 1], 2)
    return count.squeeze(2), first, second.unflatten(2, (d, d))


def scatters(
    rows: Around, r: Tensor, sums: tuple[Tensor, Tensor, Tensor | None], mean: Tensor, form: str
) -> Tensor:
    """A_k = sum_i r_ik (x_i - m_k)(x_i - m_k)' from r's moments: [M, K, d, d].

    Form "diagonal": the diagonals, [M, K, d]. Form "tied": the sum over k, [M, 1, d, d].
    """
    (count, first, second), x, m = sums, rows.x, mean - rows.c
    n = count[..., None]
    if form == "diagonal":
        return (r.mT @ x.square() - 2 * m * first + n * m.square()).clamp(min=0)
    if form == "tied":
        cross = first.mT @ m
        return ((x * r.sum(2)[..., None]).mT @ x - cross - cross.mT + (n * m).mT @ m)[:, None]
    if second is None:
        gap = x - m[:, :, None]  # [M, K, n, d]
        return (gap * r.mT[..., None]).mT @ gap
    cross = first[..., None] * m[:, :, None]
    return second - cross - cross.mT + (n * m)[..., None] * m[:, :, None]
