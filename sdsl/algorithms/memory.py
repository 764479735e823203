"""The past of a stream as clusters that move, in a fixed number of numbers.

A cluster holds the moments of n rows of one class and of their times t: means m and tau, variances
V (one per feature) and v, covariances s of x and t. At time u it lies at m + (s/v)(u - tau) with
the variances R = V - s^2/v that this motion leaves: one cluster covers a stretch of drift.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

WITHIN = 1 / 12  # variance of the times inside one segment, whose order is hidden
FLOOR = 1e-3  # least variance, in a space where gold's variances within classes are 1
PRIOR = 2.0  # rows that the mean variance of all classes stands for in a new cluster


@dataclass(frozen=True)
class Clusters:
    """K clusters of one replica; 3 d + 4 numbers each."""

    owner: Tensor  # [K] the class, int64
    moments: Tensor  # [K, 3 + 3 d] float64: n, tau, v, m, V, s

    @classmethod
    def none(cls, d: int) -> "Clusters":
        return cls(torch.zeros(0).long(), torch.zeros(0, 3 + 3 * d).double())

    @classmethod
    def of(
        cls, owner: Tensor, n: Tensor, tau: Tensor, v: Tensor, m: Tensor, V: Tensor, s: Tensor
    ) -> "Clusters":
        return cls(owner, torch.cat([torch.stack([n, tau, v], 1), m, V, s], 1))

    def __len__(self) -> int:
        return len(self.owner)

    @property
    def numbers(self) -> int:
        return self.owner.numel() + self.moments.numel()

    @property
    def n(self) -> Tensor:
        return self.moments[:, 0]

    @property
    def tau(self) -> Tensor:
        return self.moments[:, 1]

    @property
    def v(self) -> Tensor:
        return self.moments[:, 2]

    @property
    def wide(self) -> tuple[Tensor, Tensor, Tensor]:
        """m, V, s: [K, d] each."""
        m, V, s = self.moments[:, 3:].tensor_split(3, dim=1)
        return m, V, s

    @property
    def m(self) -> Tensor:  # [K, d]
        return self.wide[0]

    @property
    def slope(self) -> Tensor:  # [K, d]; s is 0 where v is
        return self.wide[2] / self.v.clamp(min=1e-12)[:, None]

    @property
    def rest(self) -> Tensor:  # [K, d] R, the variances that the motion leaves
        _, V, s = self.wide
        return torch.addcdiv(V, s.square(), self.v.clamp(min=1e-12)[:, None], value=-1).clamp(FLOOR)

    def pick(self, index: Tensor) -> "Clusters":
        return Clusters(self.owner[index], self.moments[index])

    def joined(self, other: "Clusters") -> "Clusters":
        owner = torch.cat([self.owner, other.owner])
        return Clusters(owner, torch.cat([self.moments, other.moments]))


def size(d: int, rows: float) -> int:
    """How many clusters hold no more numbers than `rows` rows with labels."""
    return int(rows * (d + 1) // (3 * d + 4))


def new_clusters(Z: Tensor, r: Tensor, owner: Tensor, t: float) -> Clusters:
    """One cluster per component from rows Z [n, d] of segment t and responsibilities r [n, K]."""
    n = r.sum(0)
    real = n > 1e-6
    r, n, owner = r[:, real], n[real], owner[real]
    m = r.mT @ Z / n[:, None]
    V = (r.mT @ Z.square() / n[:, None] - m.square()).clamp(min=0)
    # Few rows say little of a variance: they lean on the mean of all, and that on gold's, 1.
    pooled = ((n[:, None] * V).sum(0) + PRIOR) / (n.sum() + PRIOR)
    V = (n[:, None] * V + PRIOR * pooled) / (n[:, None] + PRIOR)
    zero = torch.zeros_like(n)
    return Clusters.of(owner, n, zero + t, zero, m, V, torch.zeros_like(m))
