"""Many Gaussians at once: (x - m)' S^-1 (x - m), log det S, sum_i r_i (x_i - m)(x_i - m)'.

With few features all of them are matrix products with the rows' x x', which is several times faster
than one triangular solve a component. Rows should lie around the origin, so that little cancels.
"""

import torch
from torch import Tensor

FEW = 16  # features up to which the products pay


def root(cov: Tensor) -> Tensor:
    """Cholesky factors; what rounding has made indefinite is lifted until it has one."""
    L, failed = torch.linalg.cholesky_ex(cov)
    lift = 1e-9
    while failed.any():
        size = lift * cov.diagonal(dim1=-2, dim2=-1).abs().mean(-1)[..., None, None] + 1e-300
        L, failed = torch.linalg.cholesky_ex(cov + size * torch.eye(cov.shape[-1]).to(cov))
        lift *= 10
    return L


def distances(x: Tensor, m: Tensor, cov: Tensor) -> tuple[Tensor, Tensor]:
    """((x - m)' S^-1 (x - m) [M, K, n], log det S [M, K]) of rows x [n, d], means m [M, K, d]."""
    d = x.shape[1]
    if cov.dim() == 3:
        far = (1 / cov) @ x.square().T - 2 * (m / cov) @ x.T
        return (far + (m.square() / cov).sum(2)[..., None]).clamp(min=0), cov.log().sum(2)
    L = root(cov)
    log_det = 2 * L.diagonal(dim1=2, dim2=3).log().sum(2)  # [M, K] or [M, 1]
    if d > FEW:
        gap = (x - m[:, :, None]).mT  # [M, K, d, n]
        return torch.linalg.solve_triangular(L, gap, upper=False).square().sum(2), log_det
    W = torch.linalg.solve_triangular(L, torch.eye(d, dtype=L.dtype).expand_as(L), upper=False)
    Q = (W.mT @ W).expand(*m.shape, d)  # S^-1
    Qm = (Q @ m[..., None]).squeeze(3)
    far = Q.flatten(2) @ products(x).T - 2 * Qm @ x.T + (Qm * m).sum(2)[..., None]
    return far.clamp(min=0), log_det


def products(x: Tensor) -> Tensor:
    """x x' of every row: [n, d d]."""
    return (x[:, :, None] * x[:, None]).flatten(1)


def scatters(r: Tensor, X: Tensor, mean: Tensor, diagonal: bool) -> Tensor:
    """A_k = sum_i r_ik (x_i - m_k)(x_i - m_k)': [M, K, d, d], or its diagonal [M, K, d]."""
    if diagonal:
        A = r.mT @ X.square() - 2 * mean * (r.mT @ X) + mean.square() * r.sum(1)[..., None]
        return A.clamp(min=0)
    d = X.shape[1]
    if d > FEW:
        gap = X - mean[:, :, None]  # [M, K, n, d]
        return (gap * r.mT[..., None]).mT @ gap
    c = X.mean(0)
    x, m = X - c, mean - c
    second = (r.mT @ products(x)).view(*m.shape, d)
    cross = (r.mT @ x)[..., None] * m[:, :, None]
    return second - cross - cross.mT + r.sum(1)[..., None, None] * m[..., None] * m[:, :, None]
