"""Lloyd's algorithm: the means it ends at, and that it stops when nothing changes."""

import torch
from sklearn.cluster import KMeans

from sdsl.algorithms.clustering import distance, lloyd


def rows() -> torch.Tensor:
    g = torch.Generator().manual_seed(0)
    return torch.cat([torch.randn(40, 2, generator=g) + c for c in (-4.0, 0.0, 4.0)])


def means(X: torch.Tensor, near: torch.Tensor, k: int) -> torch.Tensor:
    return torch.stack([X[near == j].mean(0) for j in range(k)])


def test_it_ends_where_scikit_learn_ends():
    X, rounds = rows(), []

    def assign(u: torch.Tensor) -> torch.Tensor:
        rounds.append(u)
        return distance(X, u).argmin(1)

    start = X[[0, 50, 100]]
    found = lloyd(start, assign, lambda near, u: means(X, near, 3), rounds=100)
    reference = KMeans(3, init=start.numpy(), n_init=1, tol=0).fit(X.numpy())
    torch.testing.assert_close(found, torch.from_numpy(reference.cluster_centers_))
    assert len(rounds) < 100  # it stops when no row changes


def test_no_round_leaves_the_centroids():
    X = rows()
    found = lloyd(X[:2], lambda u: distance(X, u).argmin(1), lambda near, u: 0 * u, rounds=0)
    assert torch.equal(found, X[:2])
