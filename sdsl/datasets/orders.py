"""The named orders: which row of a file comes when in the stream; README.md explains them."""

from typing import Literal

import numpy as np

Order = Literal["file", "chronological", "shuffled", "class_pc1", "class_pc1_raw_flipped"]
SHUFFLE_SEED = 20220814  # fixed: an order is part of the data, independent of the run's seed


def ordered(order: Order, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row indices [N] of X [N, d] and y [N]."""
    if order in ("file", "chronological"):
        return np.arange(len(y))
    if order == "shuffled":
        return np.random.default_rng(SHUFFLE_SEED).permutation(len(y))
    X, raw = X.astype(np.float64), order == "class_pc1_raw_flipped"
    spread = X.std(axis=0)  # 0: of a constant feature
    Z = X if raw else (X - X.mean(axis=0)) / np.where(spread == 0, 1, spread)
    q = np.empty(len(y))  # each row's quantile within its class
    present, counts = np.unique(y, return_counts=True)
    by_class = np.split(np.argsort(y, kind="stable"), np.cumsum(counts)[:-1])
    for c, rows in zip(present, by_class, strict=True):
        along = _first_component(Z[rows]) * (-1 if raw and c % 2 else 1)
        rank = np.empty(len(rows))
        rank[np.argsort(along, kind="stable")] = np.arange(len(rows))
        q[rows] = (rank + 0.5) / len(rows)
    return np.lexsort((y, q))  # equal quantiles: lower class first


def _first_component(Z: np.ndarray) -> np.ndarray:
    """Projection on the leading eigenvector, its largest loading made positive."""
    Z = Z - Z.mean(axis=0)
    axis = np.linalg.eigh(Z.T @ Z)[1][:, -1]
    axis = axis * np.sign(axis[np.argmax(np.abs(axis))])
    # Rounded, so that rows equal up to the last bits tie, and fall in file order, on any machine.
    return np.round(Z @ axis, 9)
