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

from collections.abc import Callable

import numpy as np

Order = Callable[[np.ndarray, np.ndarray], np.ndarray]  # X [N, d], y [N] -> row indices [N]

SHUFFLE_SEED = 20220814  # fixed: an order is part of the data, independent of the run's seed


def file(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.arange(len(y))


def chronological(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return file(X, y)


def shuffled(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return np.random.default_rng(SHUFFLE_SEED).permutation(len(y))


def class_pc1(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    X = X.astype(np.float64)
    spread = X.std(axis=0)
    spread[spread == 0] = 1  # a constant feature says nothing, and must not divide by zero
    return _along_pc1((X - X.mean(axis=0)) / spread, y, flip_odd=False)


def class_pc1_raw_flipped(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    return _along_pc1(X.astype(np.float64), y, flip_odd=True)


ORDERS: dict[str, Order] = {
    f.__name__: f for f in (file, chronological, shuffled, class_pc1, class_pc1_raw_flipped)
}


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
