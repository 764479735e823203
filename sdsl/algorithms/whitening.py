"""Gold's whitened space: z = L^-1 (x - mean) / sd, where classes have unit covariance on average.

sd are gold's standard deviations within classes and L L' is the ridged correlation matrix. z stays
the same when features are rescaled, so clusters of memory outlive a change of the scaler.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

RIDGE = 1e-3  # of the correlations, besides half a row per feature
WIDE = 64  # more features than these are taken as uncorrelated


@dataclass(frozen=True)
class Whitening:
    """One replica's."""

    mean: Tensor  # [d]
    to: Tensor  # [d, d], z = (x - mean) @ to; or [d], its diagonal
    back: Tensor  # the inverse
    log_det: Tensor  # log |dz/dx|

    @classmethod
    def fit(cls, X: Tensor, y: Tensor) -> "Whitening":
        """From gold rows X [n, d] with labels y [n]."""
        X = X.double()
        n, d = X.shape
        gap = X.clone()
        for c in y.unique():
            gap[y == c] -= X[y == c].mean(0)
        total = X.std(0, correction=0)
        sd = (gap.square().mean(0) + RIDGE * total.square()).sqrt()
        sd = torch.where(sd > 0, sd, 1.0)  # a constant feature has no scale
        if d > WIDE:
            return cls(X.mean(0), 1 / sd, sd, -sd.log().sum())
        eye = torch.eye(d, dtype=X.dtype)
        gap = gap / sd
        S = (gap.mT @ gap + 0.5 * d * eye) / (n + 0.5 * d) + RIDGE * eye
        L = torch.linalg.cholesky(S)
        to = torch.linalg.solve_triangular(L, torch.diag(1 / sd), upper=False).mT
        return cls(X.mean(0), to, L.mT * sd, -(L.diagonal().log() + sd.log()).sum())

    def __call__(self, X: Tensor) -> Tensor:
        gap = X.double() - self.mean
        return gap * self.to if self.to.dim() == 1 else gap @ self.to

    def undo(self, Z: Tensor) -> Tensor:
        return (Z * self.back if self.back.dim() == 1 else Z @ self.back) + self.mean
