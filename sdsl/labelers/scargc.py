"""SCARGC's labels (Souza 2015): k-means of X_t from the old centroids, each inheriting a label.

y(u) = label of the old centroid nearest to u; m(u) = (u + that centroid) / 2; every row takes the
label of the nearest of all u and m(u).
"""

from dataclasses import dataclass

import numpy as np
import torch
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits
from torch import Tensor

from sdsl.algorithms.clustering import lloyd
from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows

MOST = 3  # clusters a class that `clusters=0` considers
ROUNDS = 100  # of k-means, MATLAB's limit, which is what the authors ran


@dataclass
class Scargc(Labeler):
    clusters: int = number(low=0)  # per class; 0: the most modes that BIC sees in a class of gold

    def own_units(self) -> bool:
        return True  # the old centroids

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        first = [
            centroids(*gold.replica(s), self.clusters, g) for s, g in enumerate(draws.generators)
        ]
        # A replica's centroids (u, y): all that passes from step to step. The last k seed k-means.
        self.old = first
        self.k = [len(y) for _, y in first]

    def label(self, step: Step, learner: Learner) -> Pseudo:
        labels = []
        for s, X in enumerate(step.X):
            old, old_y = self.old[s]
            new = k_means(X, old[-self.k[s] :])
            y, origin = inherit(new, old, old_y)
            both = torch.cat([new, (new + origin) / 2])
            self.old[s] = both, torch.cat([y, y])
            labels.append(self.old[s][1][nearest(X, both)])
        y = torch.stack(labels)
        held = torch.tensor([old.numel() + old_y.numel() for old, old_y in self.old])
        return Pseudo(y, Rows.full(step.X, y), {"model_numbers": held})


def inherit(new: Tensor, old: Tensor, old_y: Tensor) -> tuple[Tensor, Tensor]:
    """(label [k], the old centroid it came from [k, d]) for every new centroid."""
    gap = torch.cdist(new, old)
    source = gap.argmin(1)
    for c in old_y.unique():
        y = old_y[source]
        if not (y == c).any():
            # A class that no cluster inherits takes the nearest one of a class that has several.
            spare = (y[:, None] == y).sum(1) > 1
            to_c = gap.masked_fill(~(spare[:, None] & (old_y == c)), torch.inf)
            if spare.any():
                row, column = divmod(int(to_c.argmin()), len(old))
                source[row] = column
    return old_y[source], old[source]


def k_means(X: Tensor, u: Tensor) -> Tensor:
    """From the centroids u [k, d]; a cluster without rows stays where it is."""

    def update(near: Tensor, u: Tensor) -> Tensor:
        u = u.clone()
        for j in near.unique():
            u[j] = X[near == j].mean(0)
        return u

    return lloyd(u, lambda u: nearest(X, u), update, ROUNDS)


def nearest(X: Tensor, u: Tensor) -> Tensor:
    return torch.cdist(X, u).argmin(1)


def centroids(X: Tensor, y: Tensor, k: int, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The first centroids [K, d] and labels [K], from gold: each class's median, or its k-means."""
    by_class = {int(c): X[y == c] for c in y.unique()}
    # The same number for all, as the authors have it: a class whose modes lie together may part.
    k = k or max(modes(rows.double().numpy()) for rows in by_class.values())
    u, labels = [], []
    for c, rows in by_class.items():
        n = min(k, len(rows))
        start = rows[torch.randperm(len(rows), generator=generator)[:n]]
        u.append(rows.median(0, keepdim=True).values if n == 1 else k_means(rows, start))
        labels += [c] * n
    return torch.cat(u), torch.tensor(labels)


def modes(rows: np.ndarray) -> int:
    """How many Gaussians a class's gold rows are, by the lowest BIC; one where rows are few."""
    with threadpool_limits(1):  # the same bits whatever the machine
        fits = {
            k: GaussianMixture(k, random_state=0, n_init=3, reg_covar=1e-3).fit(rows).bic(rows)
            for k in range(1, MOST + 1)
            if len(rows) > 10 * k * rows.shape[1]
        }
    return min(fits, key=lambda k: fits[k], default=1)
