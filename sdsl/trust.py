"""How far gold still holds: trust = (kappa(D, D_{t-1}) / kappa(D, D))^power, in [0, 1].

kappa(D, A): Cohen's agreement of gold's labels with the vote of their nearest rows in A. The
lookback is a teacher of gold; gold's own first rows, as many, say how good one can be. Where
nothing drifts the ratio is near 1, whatever the noise or the dimension; where classes move or
change places it falls. A high power lets go of gold before they cross, when a little decides.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.contract import Step
from sdsl.replica import Rows, take

NEIGHBOURS = 5  # rows that vote on a gold row


def trust(power: float, step: Step, classes: int) -> Tensor:
    """[S]; all of it at power 0, the paper's, and while no lookback could say otherwise."""
    kept, gold = step.lookback, step.gold
    if not power or not kept.X.shape[1]:
        return torch.ones(len(step.X))
    n = min(kept.X.shape[1], gold.X.shape[1])
    own = Rows(gold.X[:, :n], gold.y[:, :n], torch.minimum(gold.count, kept.count))
    itself = torch.eye(gold.X.shape[1], n, dtype=torch.bool)
    best = agreement(gold, own, classes, itself)
    # Gold that cannot teach itself (a row a class) is no yardstick.
    ratio = agreement(gold, kept, classes) / torch.where(best > 0, best, 1)
    return ratio.clamp(0, 1) ** power


def agreement(gold: Rows, teacher: Rows, classes: int, barred: Tensor | None = None) -> Tensor:
    """Cohen's kappa between gold's labels and the vote of their nearest teachers: [S].

    barred: [g, n], which rows may not vote on which.
    """
    # Without the matrix product, which would cancel near zero.
    far = torch.cdist(gold.X, teacher.X, compute_mode="donot_use_mm_for_euclid_dist")  # [S, g, n]
    far = far.masked_fill(~teacher.mask[:, None], torch.inf)
    if barred is not None:
        far = far.masked_fill(barred, torch.inf)
    near = far.topk(min(NEIGHBOURS, far.shape[2]), largest=False)
    votes = F.one_hot(take(teacher.y, near.indices), classes) * near.values.isfinite()[..., None]
    given = votes.sum(2).argmax(2)  # [S, g]
    real, n = gold.mask[:, :, None], gold.count.clamp(min=1)
    mine, theirs = F.one_hot(gold.y, classes) * real, F.one_hot(given, classes) * real  # [S, g, C]
    same = (mine * theirs).sum((1, 2)) / n
    by_chance = (mine.sum(1) * theirs.sum(1)).sum(1) / n**2
    return (same - by_chance) / (1 - by_chance).clamp(min=1e-9)
