"""SCARGC's labels (Souza 2015): k-means of X_t from the old centroids, each inheriting a label.

y(u) = label of the old centroid nearest to u; m(u) = (u + that centroid) / 2; every row takes the
label of the nearest of all u and m(u).
"""

import numpy as np
import torch
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits
from torch import Tensor

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Count, settings

MODES = 3  # clusters per class that `clusters=0` considers
ROUNDS = 100  # of k-means, MATLAB's limit, which is what the authors ran


@settings
class Scargc(Labeler):
    clusters: Count  # per class; 0: the most modes that BIC sees in a class of gold

    own_units = True  # the old centroids

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.u, self.y = centroids(gold, self.clusters, draws)  # [K, d], [K]
        self.k = len(self.y)  # the last k centroids seed k-means

    def label(self, step: Step, learner: Learner) -> Pseudo:
        new = k_means(step.X, self.u[-self.k :])
        y, origin = inherit(new, self.u, self.y)
        self.u, self.y = torch.cat([new, (new + origin) / 2]), torch.cat([y, y])
        labels = self.y[torch.cdist(step.X, self.u).argmin(1)]
        held = {"model_numbers": float(self.u.numel() + self.y.numel())}
        return Pseudo(labels, Rows(step.X, labels), held)


def inherit(new: Tensor, old: Tensor, old_y: Tensor) -> tuple[Tensor, Tensor]:
    """(label [k], the old centroid it came from [k, d]) of every new centroid."""
    gap = torch.cdist(new, old)
    source = gap.argmin(1)
    for c in old_y.unique():
        y = old_y[source]
        spare = (y[:, None] == y).sum(1) > 1  # clusters of a class that has several
        if not (y == c).any() and spare.any():
            # A class that no cluster inherits takes the nearest one of these.
            to_c = gap.masked_fill(~(spare[:, None] & (old_y == c)), torch.inf)
            row, column = divmod(int(to_c.argmin()), len(old))
            source[row] = column
    return old_y[source], old[source]


def k_means(X: Tensor, u: Tensor) -> Tensor:
    """Lloyd's algorithm from the centroids u [k, d]; a cluster without rows stays where it is."""
    before = torch.empty(0, dtype=torch.long)
    for _ in range(ROUNDS):
        near = torch.cdist(X, u).argmin(1)
        if torch.equal(near, before):
            break
        before, u = near, u.clone()
        for j in near.unique():
            u[j] = X[near == j].mean(0)
    return u


def centroids(gold: Rows, k: int, draws: Draws) -> tuple[Tensor, Tensor]:
    """The first centroids [K, d] and labels [K]: each class's median, or its k-means."""
    by_class = {int(c): gold.X[gold.y == c] for c in gold.y.unique()}
    # The same number for all, as the authors have it: a class whose modes lie together may part.
    k = k or max(modes(rows.double().numpy()) for rows in by_class.values())
    u, labels = [], []
    for c, rows in by_class.items():
        n = min(k, len(rows))
        start = rows[draws.permutation(len(rows))[:n]]
        u.append(rows.median(0, keepdim=True).values if n == 1 else k_means(rows, start))
        labels += [c] * n
    return torch.cat(u), torch.tensor(labels)


def modes(rows: np.ndarray) -> int:
    """How many Gaussians a class's gold rows are, by the lowest BIC; one where rows are few."""
    bic = {}
    for k in range(1, MODES + 1):
        if len(rows) > 10 * k * rows.shape[1]:
            with threadpool_limits(1):  # the same bits whatever the machine
                mixture = GaussianMixture(k, random_state=0, n_init=3, reg_covar=1e-3)
                bic[k] = mixture.fit(rows).bic(rows)
    return min(bic, key=lambda k: bic[k], default=1)
