"""What is remembered of a labelled set of rows: each class's mean and spread, no row.

Distances are in units of the spread, z(x) = min_c sqrt(mean_j ((x_j - m_cj) / s_cj)^2), about 1 for
a row like the others, whatever the units of the features.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

SHRINK = 10  # rows that the spread of all classes together counts for in that of one class
FLOOR = 0.1  # a class's spread is at least this share of the spread of all rows
REACH = 0.99  # of the rows are this near
PAIR_ROWS = 15  # members of a class from which its valley to another can be judged


@dataclass(frozen=True)
class Summary:
    """Of C classes in d features, raw units: 2 C d + C + 1 numbers."""

    mean: np.ndarray  # [C, d]
    spread: np.ndarray  # [C, d]
    count: np.ndarray  # [C] rows in this set; 0: moments from an earlier one
    reach: float  # z of most rows

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, classes: int, before: "Summary | None") -> "Summary":
        """A class without rows is remembered as it was."""
        X = X.astype(np.float64)
        count = np.bincount(y, minlength=classes)
        mean = np.zeros((classes, X.shape[1])) if before is None else before.mean.copy()
        square = np.zeros_like(mean)
        for c in np.flatnonzero(count):
            mean[c] = X[y == c].mean(0)
            square[c] = ((X[y == c] - mean[c]) ** 2).sum(0)
        pooled = square.sum(0) / len(X)
        if before is not None:  # a few rows say little about their spread
            known = (before.spread**2).mean(0)
            pooled = (square.sum(0) + SHRINK * known) / (len(X) + SHRINK)
        variance = (square + SHRINK * pooled) / (count[:, None] + SHRINK)
        whole = np.sqrt(((X - X.mean(0)) ** 2).mean(0) if before is None else pooled)
        # A feature that never changed has no spread of its own; 1, as in core/scaler.py.
        spread = np.maximum(np.sqrt(variance), FLOOR * np.where(whole > 0, whole, 10.0))
        if before is not None:
            spread = np.where(count[:, None] > 0, spread, before.spread)
        found = cls(mean, spread, count, 0.0)
        reach = float(np.quantile(found.distance(X, y), REACH))
        return cls(mean, spread, count, max(reach, before.reach if before else 1.0))

    def distance(self, X: np.ndarray, y: np.ndarray | None = None) -> np.ndarray:
        """z [n] to the nearest class, or to the row's own."""
        X = X.astype(np.float64)
        if y is not None:
            return np.sqrt((((X - self.mean[y]) / self.spread[y]) ** 2).mean(1))
        z = [(((X - m) / s) ** 2).mean(1) for m, s in zip(self.mean, self.spread, strict=True)]
        return np.sqrt(np.min(z, axis=0))

    def moved(self, before: "Summary") -> float:
        """How far class means went, in spreads: root mean square over classes and features."""
        both = self.count > 0
        if not both.any():
            return 0.0
        z = (self.mean[both] - before.mean[both]) / before.spread[both]
        return float(np.sqrt((z**2).mean()))

    def plain(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in ("mean", "spread", "count", "reach")}


def farness(X: np.ndarray, *known: Summary) -> np.ndarray:
    """z over reach [n], of the nearest of several sets; above 2 a row is far from all of them."""
    return np.min([s.distance(X) / s.reach for s in known], axis=0)


def nearest_pair(X: np.ndarray, y: np.ndarray, summary: Summary) -> tuple[float, int, int]:
    """(valley, a, b) of the two classes with the least between them; NaN where there are no two."""
    worst = (float("nan"), 0, 0)
    enough = np.flatnonzero(summary.count >= PAIR_ROWS)
    for a in enough:
        others = enough[enough != a]
        if not len(others):
            continue
        gap = ((summary.mean[others] - summary.mean[a]) / summary.spread[a]) ** 2
        b = others[gap.sum(1).argmin()]  # its nearest class
        found = valley(X, y, summary, int(a), int(b))
        if not found <= worst[0]:
            worst = (found, int(a), int(b))
    return worst


def valley(X: np.ndarray, y: np.ndarray, summary: Summary, a: int, b: int) -> float:
    """How many rows lie between two classes: 0 where they stand apart, 1 and more in one heap.

    Along the line that tells a and b apart best, rows midway between the means over rows near the
    means; each class weighs the same.
    """
    if min(summary.count[a], summary.count[b]) < PAIR_ROWS:
        return float("nan")
    ours = (y == a) | (y == b)
    step = summary.mean[b] - summary.mean[a]
    line = step / (summary.spread[a] ** 2 + summary.spread[b] ** 2)
    at = (X[ours] - summary.mean[a]) @ line / (step @ line or 1.0)  # 0 at a's mean, 1 at b's
    weight = np.where(y[ours] == a, 1 / summary.count[a], 1 / summary.count[b])
    low, middle, high = (weight[np.abs(at - place) < 0.2].sum() for place in (0.0, 0.5, 1.0))
    return float(2 * middle / max(low + high, 1e-9))
