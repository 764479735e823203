"""Standardisation, one scale per replica: (x - mean) / sd."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core.replica import Rows


@dataclass(frozen=True)
class Scaler:
    """A constant feature keeps scale 1."""

    mean: Tensor  # [S, 1, d]
    scale: Tensor  # [S, 1, d]

    @classmethod
    def fit(cls, *parts: Sequence[Tensor] | Tensor) -> "Scaler":
        """From row sets, each [n, d] per replica."""
        # One replica at a time: how a reduction over rows is split must not depend on S.
        fitted = [torch.cat([p[s] for p in parts]).double() for s in range(len(parts[0]))]
        mean = torch.stack([x.mean(0, keepdim=True) for x in fitted])
        scale = torch.stack([x.std(0, correction=0, keepdim=True) for x in fitted])
        # A feature that is constant up to rounding carries no scale of its own.
        flat = scale <= 1e-7 * mean.abs().clamp(min=1e-12)
        return cls(mean.float(), torch.where(flat, 1.0, scale).float())

    @classmethod
    def identity(cls, X: Tensor) -> "Scaler":
        shape = (len(X), 1, X.shape[2])
        return cls(torch.zeros(shape), torch.ones(shape))

    def __call__(self, X: Tensor) -> Tensor:
        return (X - self.mean) / self.scale

    def rows(self, rows: Rows) -> Rows:
        return Rows(self(rows.X), rows.y, rows.count)

    def undo(self, X: Tensor) -> Tensor:
        return X * self.scale + self.mean
