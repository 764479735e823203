"""The memory of S replicas between steps: their clusters in tensors of one fixed size."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.memory import Clusters, new_clusters
from sdsl.algorithms.merging import reduced
from sdsl.algorithms.present import Present


@dataclass(frozen=True)
class Past:
    """Only the first count[s] clusters of a replica are real: the size never grows with t."""

    owner: Tensor  # [S, K] int64
    moments: Tensor  # [S, K, 3 + 3 d] float64
    count: Tensor  # [S] int64

    @classmethod
    def of(cls, parts: Sequence[Clusters], most: int) -> "Past":
        owner = [F.pad(c.owner, (0, most - len(c))) for c in parts]
        moments = [F.pad(c.moments, (0, 0, 0, most - len(c))) for c in parts]
        count = torch.tensor([len(c) for c in parts])
        return cls(torch.stack(owner), torch.stack(moments), count)

    @classmethod
    def none(cls, S: int, d: int, most: int) -> "Past":
        return cls.of([Clusters.none(d)] * S, most)

    def clusters(self, s: int) -> Clusters:
        return Clusters(self.owner[s, : self.count[s]], self.moments[s, : self.count[s]])

    @property
    def numbers(self) -> Tensor:  # [S]
        return self.count * (1 + self.moments.shape[2])

    def learn(self, new: Sequence[Clusters]) -> "Past":
        """With new clusters, merged down to the size."""
        most = self.owner.shape[1]
        parts = [reduced(self.clusters(s).joined(c), most) for s, c in enumerate(new)]
        return Past.of(parts, most)


def clusters_of(present: Present, X: Tensor, y: Tensor, Z: Tensor, t: int) -> Clusters:
    """What memory takes from segment t: the rows that each component has, by their labels."""
    foreign = present.owner != y[:, None]
    r = present.joint(X).masked_fill(foreign, -torch.inf).softmax(1)
    return new_clusters(Z, r.nan_to_num(0), present.owner, t)  # a row without a component: left out


def sample(c: Clusters, n: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """n rows of all times, as the clusters remember them: whitened Z [n, d], labels [n]."""
    k = torch.multinomial(c.n, n, replacement=True, generator=generator)
    noise = torch.randn(n, c.m.shape[1] + 1, generator=generator, dtype=torch.float64)
    along = noise[:, :1] * c.v.sqrt()[k, None] * c.slope[k]
    return c.m[k] + along + noise[:, 1:] * c.rest[k].sqrt(), c.owner[k]
