"""The present as labelled rows show it: p_now(x, c) = sum_{k of c} w_k N(x; m_k, S_k).

EM of mixture.py within each class, without priors: S_k = (A_k + d P) / (n_k + d), where A_k is the
scatter of a component and P the ridged mean covariance of all of them.
"""

from dataclasses import dataclass
from typing import Protocol

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.gaussians import Around
from sdsl.algorithms.mixture import Mixture, Priors, log_joint, update
from sdsl.algorithms.mixture import fit as em

FREE = Priors(mean=1e-9, share=0.0, memory=0.0, floor=1e-4)
ROUNDS = 8
LEAST = 5  # rows per feature that a component must have


class Present(Protocol):
    """What memory asks of one replica's model of the present."""

    @property
    def owner(self) -> Tensor:
        """The class of each component: [K]."""
        ...

    @property
    def numbers(self) -> int:
        """How many numbers it holds that nobody else counts."""
        ...

    def joint(self, X: Tensor) -> Tensor:
        """log w_k N(x; m_k, S_k) of scaled rows X [n, d], float64: [n, K]."""
        ...


@dataclass(frozen=True)
class MixturePresent:
    """One replica's mixture, M = 1: the tracker's, whose numbers the labeler counts, or a fit."""

    mix: Mixture
    numbers: int

    @property
    def owner(self) -> Tensor:
        return self.mix.owner[0]

    def joint(self, X: Tensor) -> Tensor:
        return log_joint(self.mix, X.double())[0]


def form(d: int, K: int, C: int) -> str:
    """The richest covariances with which K components hold no more numbers than the network."""
    most = (d + 1) * 100 + 101 * 100 + 101 * C - K * (d + 2)
    square = d * (d + 1) // 2
    return "full" if K * square <= most else "tied" if square <= most else "diagonal"


def fit(X: Tensor, y: Tensor, classes: int, parts: int) -> MixturePresent:
    """Of rows X [n, d] with labels y [n]; at most `parts` components per class."""
    X = X.double()
    n, d = X.shape
    group = torch.full((n,), -1)
    owner: list[int] = []
    for c in range(classes):
        rows = (y == c).nonzero().squeeze(1)
        if not len(rows):
            continue
        for piece in split(X, rows, min(parts, len(rows) // (LEAST * d))):
            group[piece] = len(owner)
            owner.append(c)
    K, shape = len(owner), form(d, len(owner), classes)
    flat = X.new_ones(1, d) if shape == "diagonal" else torch.eye(d, dtype=X.dtype)[None]
    cov = flat.expand(1, 1 if shape == "tied" else K, *flat.shape[1:])
    weight, own = X.new_full((1, K), 1 / K), torch.tensor(owner)[None]
    start = Mixture(X.new_zeros(1, K, d), cov, weight, flat, own)
    mix = update(start, F.one_hot(group, K).to(X)[None], Around.mean_of(X), FREE)
    if len(y.unique()) < K:
        mix = em(mix, X, FREE, ROUNDS, F.one_hot(y, classes).to(X))
    square = d * (d + 1) // 2
    held = {"full": K * square, "tied": square, "diagonal": K * d}[shape]
    return MixturePresent(mix, 2 * K + K * d + held)


def split(X: Tensor, rows: Tensor, parts: int) -> list[Tensor]:
    """Rows of one class in at most `parts` pieces: the widest is cut across its longest axis."""
    pieces = [rows]
    while len(pieces) < parts:
        spread = [float((X[p] - X[p].mean(0)).square().sum()) for p in pieces]
        widest = pieces.pop(max(range(len(spread)), key=spread.__getitem__))
        gap = X[widest] - X[widest].mean(0)
        axis = torch.linalg.eigh(gap.mT @ gap)[1][:, -1]
        right = gap @ axis > 0
        if right.all() or not right.any():
            return [*pieces, widest]
        pieces += [widest[right], widest[~right]]
    return pieces
