"""The named orders: which row of a file comes when in the stream.

file                   as in the file; the drift of the synthetic streams is in that order.
chronological          the same, where the file is known to be in order of arrival (Spam).
shuffled               no drift at all.
class_pc1              every class moves along its own first principal component. All classes are
                       there from the start, and no parameter is fitted.
class_pc1_raw_flipped  the same on features as they are, with every odd class moving backwards.

The paper does not say in which order its real datasets arrive. README.md in this folder says why
each of them has the order it has.
"""

import numpy as np

ORDERS = ("file", "chronological", "shuffled", "class_pc1", "class_pc1_raw_flipped")
SHUFFLE_SEED = 20220814  # fixed: an order is part of the data, independent of the run's seed


def ordered(name: str, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Row indices [N] of X [N, d] and y [N] in the order of that name."""
    if name in ("file", "chronological"):
        return np.arange(len(y))
    if name == "shuffled":
        return np.random.default_rng(SHUFFLE_SEED).permutation(len(y))
    X = X.astype(np.float64)
    if name == "class_pc1_raw_flipped":
        return _along_pc1(X, y, flip_odd=True)
    spread = X.std(axis=0)
    spread[spread == 0] = 1  # a constant feature
    return _along_pc1((X - X.mean(axis=0)) / spread, y, flip_odd=False)


def _along_pc1(Z: np.ndarray, y: np.ndarray, flip_odd: bool) -> np.ndarray:
    """Sorts by each row's quantile within its class along that class's first component."""
    q = np.empty(len(y))
    present, counts = np.unique(y, return_counts=True)
    by_class = np.split(np.argsort(y, kind="stable"), np.cumsum(counts)[:-1])
    for c, rows in zip(present, by_class, strict=True):
        along = _first_component(Z[rows])
        if flip_odd and c % 2:
            along = -along
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
