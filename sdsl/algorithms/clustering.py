"""Lloyd's algorithm (1982): every row to its nearest centroid, every centroid to its rows' mean."""

from collections.abc import Callable

import torch
from torch import Tensor

Assign = Callable[[Tensor], Tensor]  # centroids -> the number of each row's centroid
Update = Callable[[Tensor, Tensor], Tensor]  # (those numbers, centroids) -> the rows' means


def lloyd(centroids: Tensor, assign: Assign, update: Update, rounds: int) -> Tensor:
    """At most `rounds` rounds; fewer where no row changes its centroid any more."""
    before = None
    for _ in range(rounds):
        near = assign(centroids)
        if before is not None and torch.equal(near, before):
            break
        before, centroids = near, update(near, centroids)
    return centroids


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean, [S, n, m], without the matrix product that would cancel near zero."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
