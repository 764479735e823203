"""Signs and alarms that need no labels: estimated accuracy, drift, far rows, shares.

Distances are in spreads of a class, z(x) = min_c sqrt(mean_j ((x_j - m_cj) / s_cj)^2): about 1 for
a row like the others, whatever the units. Farness is z over `reach`, the z of 99 % of known rows.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

SHRINK = 10  # rows that the spread of all classes together counts for in that of one class
FLOOR = 0.1  # a class's spread is at least this share of the spread of all rows
FAR = 2.0  # farness of a row that is far from all rows seen
LEFT = 0.1  # a class has vanished below this part of its share in gold,
DUE = 10  # where that share would be so many rows
FALL = 0.1  # of the estimated accuracy under that of cross-validation on gold
# 5 % and 95 % quantiles of accuracy - estimate on segments of dev/table_*, measured by
# `python -m sdsl.bench alarms`.
BELOW, ABOVE = -0.14, 0.08
NORMAL = 1.645  # its 95 % quantile
UNSEEN = (
    "The estimated accuracy assumes that what the rows mean has not changed, which nobody can see "
    "without labels."
)


@dataclass(frozen=True)
class Moments:
    """Mean and spread of each class in a set of rows: 2 C d + C + 1 numbers, in raw units."""

    mean: np.ndarray  # [C, d]
    spread: np.ndarray  # [C, d]
    count: np.ndarray  # [C] rows in this set; 0: moments from an earlier one
    reach: float

    @property
    def shares(self) -> np.ndarray:
        return self.count / self.count.sum()

    @classmethod
    def of(cls, X: np.ndarray, y: np.ndarray, classes: int, before: "Moments | None") -> "Moments":
        """A class without rows keeps its earlier moments."""
        X, count = X.astype(np.float64), np.bincount(y, minlength=classes)
        mean = np.zeros((classes, X.shape[1])) if before is None else before.mean.copy()
        square = np.zeros_like(mean)
        for c in np.flatnonzero(count):
            mean[c] = X[y == c].mean(0)
            square[c] = ((X[y == c] - mean[c]) ** 2).sum(0)
        pooled = square.sum(0) / len(X)
        if before is not None:  # the spread of a few rows is uncertain
            known = (before.spread**2).mean(0)
            pooled = (square.sum(0) + SHRINK * known) / (len(X) + SHRINK)
        variance = (square + SHRINK * pooled) / (count[:, None] + SHRINK)
        whole = np.sqrt(X.var(0) if before is None else pooled)
        # A feature that never changed has no spread of its own; 1, as in core/scaler.py.
        spread = np.maximum(np.sqrt(variance), FLOOR * np.where(whole > 0, whole, 10.0))
        if before is not None:
            spread = np.where(count[:, None] > 0, spread, before.spread)
        z = np.sqrt((((X - mean[y]) / spread[y]) ** 2).mean(1))
        reach = max(float(np.quantile(z, 0.99)), before.reach if before else 1.0)
        return cls(mean, spread, count, reach)

    def farness(self, X: np.ndarray) -> np.ndarray:
        """z over reach [n]; above FAR a row is unlike all rows of this set."""
        X = X.astype(np.float64)
        z = [(((X - m) / s) ** 2).mean(1) for m, s in zip(self.mean, self.spread, strict=True)]
        return np.sqrt(np.min(z, axis=0)) / self.reach

    def moved(self, before: "Moments") -> float:
        """How far class means went, in spreads: root mean square over classes and features."""
        seen = self.count > 0
        z = (self.mean[seen] - before.mean[seen]) / before.spread[seen]
        return float(np.sqrt((z**2).mean()))


class Monitor:
    """Compares every labelled segment with gold and with the last segment."""

    def __init__(self, X: np.ndarray, y: np.ndarray, classes: Sequence[str]):
        self.classes = classes
        self.gold = self.last = Moments.of(X, y, len(classes), None)

    def farness(self, X: np.ndarray) -> np.ndarray:
        """[n], of the nearer of gold and the last segment."""
        return np.minimum(self.gold.farness(X), self.last.farness(X))

    def judge(
        self, X: np.ndarray, y: np.ndarray, sure: np.ndarray | None = None, expected: float = np.nan
    ) -> tuple[dict[str, float], list[str]]:
        """(numbers, alarms) of a segment with its labels, which then becomes the last one.

        sure: the method's own probability of each label [n]; expected: gold's cross-validated
        accuracy.
        """
        last, far, names = self.last, self.farness(X), self.classes
        now = self.last = Moments.of(X, y, len(names), last)
        numbers = {"drift": now.moved(last), "far": float((far > FAR).mean())}
        numbers |= {f"share_{name}": float(x) for name, x in zip(names, now.shares, strict=True)}
        due = len(X) * self.gold.shares
        gone = (now.shares < LEFT * self.gold.shares) & (due >= DUE)
        just = np.flatnonzero(gone & (last.shares >= LEFT * self.gold.shares)).tolist()
        alarms = [f"class {names[i]} has vanished" for i in just]
        if sure is not None:
            numbers |= estimated(sure)
            if (found := numbers["estimated_accuracy"]) < expected - FALL:
                alarms.append(f"estimated accuracy {found:.2f}, on gold it was {expected:.2f}")
        return numbers, alarms


def estimated(sure: np.ndarray) -> dict[str, float]:
    """The accuracy of labels with these probabilities, with a band of 90 %."""
    found, chance = sure.mean(), NORMAL * np.sqrt((sure * (1 - sure)).sum()) / len(sure)
    low, high = found - np.hypot(BELOW, chance), found + np.hypot(ABOVE, chance)
    names = ("estimated_accuracy", "estimated_low", "estimated_high")
    return {k: float(v) for k, v in zip(names, np.clip([found, low, high], 0, 1), strict=True)}
