"""Standardisation: z = (x - mean) / sd, and z = 0 where |z| > HUGE.

One corrupt value must not break a model: a value that is farther than HUGE deviations counts
as missing, and one that is out of all proportion to its feature does not set the scale.
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.core.rows import Rows

HUGE = 1e4  # deviations
RANGE = 1e6  # times the deviation of the other rows; a feature that spans less has no such value


@dataclass(frozen=True)
class Scaler:
    """A constant feature keeps scale 1."""

    mean: Tensor  # [1, d]
    scale: Tensor  # [1, d]
    huge: float = HUGE

    @classmethod
    def fit(cls, *parts: Tensor, rounding: Tensor | float = 0.0) -> "Scaler":
        """From row sets, each [n, d]; a spread up to `rounding` counts as none."""
        x = without_outliers(torch.cat(parts).double())
        mean, scale = x.mean(0, keepdim=True), x.std(0, correction=0, keepdim=True)
        # A feature that is constant up to rounding carries no scale of its own.
        flat = (scale <= 1e-7 * mean.abs().clamp(min=1e-12)) | (scale <= rounding)
        return cls(mean.float(), torch.where(flat, 1.0, scale).float())

    @classmethod
    def identity(cls, d: int) -> "Scaler":
        return cls(torch.zeros(1, d), torch.ones(1, d), float("inf"))

    def __call__(self, X: Tensor) -> Tensor:
        z = (X - self.mean) / self.scale
        if z.numel() and bool(z.abs().amax() > self.huge):
            z = z.masked_fill(z.abs() > self.huge, 0)
        return z

    def rows(self, rows: Rows) -> Rows:
        return Rows(self(rows.X), rows.y)

    def undo(self, X: Tensor) -> Tensor:
        return X * self.scale + self.mean

    @property
    def rounding(self) -> Tensor:
        """The spread that scaling and undoing may leave in a feature that does not vary."""
        return 1e-6 * (self.mean.abs() + self.scale)


def without_outliers(X: Tensor) -> Tensor:
    """Rows [n, d] with the median in the place of values that are out of all proportion.

    Such a value lies more than RANGE times as far from the median as 99 of 100 rows do.
    """
    if not len(X) or bool((X.amax(0) - X.amin(0)).amax() <= RANGE):
        return X
    centre = X.median(0).values
    far = (X - centre).abs()
    usual = far.sort(0).values[max(0, len(X) - 2 - len(X) // 100)]  # of all but 1 % and one
    return torch.where(far > RANGE * usual.clamp(min=1), centre, X)
