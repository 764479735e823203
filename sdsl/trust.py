"""How far gold still speaks for X_t: trust = overlap(D, X_t) * agreement(D, D_{t-1}), in [0, 1].

overlap: how often the nearest neighbour of a row of X_t is a gold row, against how often it would
be if both had one distribution. agreement: Cohen's kappa of gold's labels with those that the
nearest lookback rows would give. Where nothing drifts both are high; where classes move away the
first falls, where they change places the second.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.replica import Rows, take

QUERIES = 200  # rows of X_t that are asked for their neighbour; they stand in random order
NEIGHBOURS = 5  # lookback rows that vote on a gold row


def trust(gold: Rows, lookback: Rows, X: Tensor, classes: int) -> Tensor:
    """[S]; all of it while there is no lookback that could say otherwise."""
    if not lookback.X.shape[1]:
        return torch.ones(len(X))
    return overlap(gold, X) * agreement(gold, lookback, classes)


def overlap(gold: Rows, X: Tensor) -> Tensor:
    """Observed over expected share of neighbours in gold, at most 1: [S]."""
    n, asked = X.shape[1], X[:, :QUERIES]
    to_gold = distance(asked, gold.X).masked_fill(~gold.mask[:, None], torch.inf).amin(2)
    own = torch.eye(asked.shape[1], n, dtype=torch.bool)
    to_others = distance(asked, X).masked_fill(own, torch.inf).amin(2)
    share = (to_gold < to_others).double().mean(1)
    expected = gold.count / (gold.count + n - 1)
    return (share / expected.clamp(min=1e-9)).clamp(max=1).float()


def agreement(gold: Rows, lookback: Rows, classes: int) -> Tensor:
    """Cohen's kappa between gold's labels and the vote of their nearest lookback rows: [S]."""
    far = distance(gold.X, lookback.X).masked_fill(~lookback.mask[:, None], torch.inf)
    near = far.topk(min(NEIGHBOURS, far.shape[2]), largest=False)
    votes = F.one_hot(take(lookback.y, near.indices), classes) * near.values.isfinite()[..., None]
    given = votes.sum(2).argmax(2)  # [S, g]
    real, n = gold.mask[:, :, None], gold.count.clamp(min=1)
    mine, theirs = F.one_hot(gold.y, classes) * real, F.one_hot(given, classes) * real  # [S, g, C]
    same = (mine * theirs).sum((1, 2)) / n
    by_chance = (mine.sum(1) * theirs.sum(1)).sum(1) / n**2
    kappa = (same - by_chance) / (1 - by_chance).clamp(min=1e-9)
    return kappa.clamp(0, 1)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean, [S, n, m], without the matrix product that would cancel near zero."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
