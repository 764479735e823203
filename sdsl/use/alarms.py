"""Alarms that need no labels: what a step says about the trust its labels deserve."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

FEW = 20  # rows from which shares and trust can be judged
LOW_TRUST = 0.15  # gold trust below which gold says little about this segment
SHARE_CHANGE = 0.15  # a class's share has to change by this much, and
SHARE_NOISE = 5.0  # by this many standard errors
FAR = 2.0  # farness of a row that is far from all that was seen
FAR_SHARE = 0.1  # share of far rows in a segment unlike any seen
UNLIKE = 1.15  # or its median farness: half of the rows lie beyond nearly all rows seen
CLEAR, HEAP = 0.5, 1.0  # valley between two classes: clear in gold, none left now


@dataclass(frozen=True)
class Signs:
    """What the alarms are judged by."""

    rows: int
    gold_trust: float
    shares: np.ndarray  # [C] of this segment
    last_shares: np.ndarray  # [C] of the segment before, or of gold
    last_rows: int
    farness: np.ndarray  # [rows]
    valley: float  # between the two nearest classes, see summary.valley
    gold_valley: float  # between the same two in gold
    pair: tuple[int, int]


def alarms(signs: Signs, classes: Sequence[str]) -> list[str]:
    """One short sentence each; none on a calm stream."""
    found = []
    if signs.rows >= FEW and signs.gold_trust < LOW_TRUST:
        found.append(f"low trust in gold ({signs.gold_trust:.2f})")
    if (changed := _changed_share(signs)) is not None:
        was, now = signs.last_shares[changed], signs.shares[changed]
        found.append(f"share of {classes[changed]} went from {was:.2f} to {now:.2f}")
    if signs.valley >= HEAP and signs.gold_valley <= CLEAR:
        a, b = signs.pair
        found.append(f"{classes[a]} and {classes[b]} lie on top of each other, a swap may follow")
    far = float((signs.farness > FAR).mean())
    if signs.rows and (far > FAR_SHARE or np.median(signs.farness) > UNLIKE):
        found.append(f"unlike anything seen ({far:.0%} of rows far)")
    return found


def _changed_share(signs: Signs) -> int | None:
    """The class whose share changed most, if that is more than chance does."""
    if min(signs.rows, signs.last_rows) < FEW:
        return None
    change = np.abs(signs.shares - signs.last_shares)
    n, m = signs.rows, signs.last_rows
    both = (n * signs.shares + m * signs.last_shares + 1) / (n + m + 2)
    noise = np.sqrt(both * (1 - both) * (1 / n + 1 / m))
    change = np.where((change > SHARE_CHANGE) & (change > SHARE_NOISE * noise), change, 0)
    return int(change.argmax()) if change.any() else None
