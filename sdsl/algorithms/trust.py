"""How far gold still holds: trust = overlap(D, X_t)^a * agreement(D, D_{t-1})^b, in [0, 1].

overlap: how often the nearest neighbour of a row of X_t is a gold row, against how often it would
be if both had one distribution. agreement: Cohen's kappa of gold's labels with the vote of their
nearest lookback rows, against that of gold's own rows, as many. Where nothing drifts both are near
1, whatever the noise and the dimension. Overlap asks for no label, so it falls where classes move
even while gold's own pull keeps labels in agreement; agreement stays low where classes have changed
places and overlap is back. High powers let go before they cross, when a little gold decides.
Of the lookback the new labels are asked the same: overlap(D_{t-1}, X_t), agreement(D_{t-1}, y_t).
"""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.clustering import distance
from sdsl.core.contract import Step
from sdsl.core.fields import number
from sdsl.core.replica import Rows, take

QUERIES = 500  # rows of X_t that are asked for their neighbour; they stand in random order
NEIGHBOURS = 5  # rows that vote on a gold row


@dataclass
class Trust:
    """The two powers; 0 and 0 is the paper's, gold weighs whole."""

    overlap: float = number(low=0)
    agreement: float = number(low=0)

    def __call__(self, step: Step, classes: int) -> Tensor:
        """[S]; all of it while no lookback could say otherwise."""
        if not (self.overlap or self.agreement) or not step.lookback.X.shape[1]:
            return torch.ones(len(step.X))
        near = step.once("overlap", lambda: overlap(step.gold, step.X, _to_others(step)))
        same = step.once("agreement", lambda: relative_agreement(step.gold, step.lookback, classes))
        trust = near**self.overlap * same**self.agreement
        # After a segment of a row or two there is nobody to vote: gold alone knows the classes.
        return torch.where(step.lookback.count < NEIGHBOURS, 1.0, trust)

    def beside(self, labelled: Rows, kept: Rows, step: Step, classes: int) -> Tensor:
        """[S]: how far gold or the lookback (kept) holds beside rows of X_t with new labels."""
        if not (self.overlap or self.agreement) or not kept.X.shape[1]:
            return torch.ones(len(step.X))
        same = relative_agreement(kept, labelled, classes)
        near = overlap(kept, step.X, _to_others(step))
        trust = near**self.overlap * same**self.agreement
        return torch.where(torch.minimum(kept.count, labelled.count) < NEIGHBOURS, 1.0, trust)


def relative_agreement(gold: Rows, kept: Rows, classes: int) -> Tensor:
    """Of gold with the lookback, against that of gold with its own rows, at most 1: [S]."""
    n = min(kept.X.shape[1], gold.X.shape[1])
    own = Rows(gold.X[:, :n], gold.y[:, :n], torch.minimum(gold.count, kept.count))
    itself = torch.eye(gold.X.shape[1], n, dtype=torch.bool)
    best = agreement(gold, own, classes, itself)
    # Gold that cannot teach itself (a row a class) is no yardstick.
    ratio = agreement(gold, kept, classes) / torch.where(best > 0, best, 1)
    return ratio.clamp(0, 1)


def overlap(gold: Rows, X: Tensor, to_others: Tensor | None = None) -> Tensor:
    """Observed over expected share of neighbours in gold, at most 1: [S].

    to_others: what `nearest_other` gives for X, where it is known already.
    """
    n, asked = X.shape[1], X[:, :QUERIES]
    to_others = nearest_other(X) if to_others is None else to_others
    to_gold = distance(asked, gold.X).masked_fill_(~gold.mask[:, None], torch.inf).amin(2)
    share = (to_gold < to_others).double().mean(1)
    expected = gold.count / (gold.count + n - 1)
    return (share / expected.clamp(min=1e-9)).clamp(max=1).float()


def nearest_other(X: Tensor) -> Tensor:
    """How far each row that is asked has its nearest neighbour in X: [S, at most QUERIES]."""
    far = distance(X[:, :QUERIES], X)
    far.diagonal(dim1=1, dim2=2).fill_(torch.inf)  # a row is no neighbour of its own
    return far.amin(2)


def _to_others(step: Step) -> Tensor:
    """Once a step: gold and the lookback are held against the same rows."""
    return step.once("to_others", lambda: nearest_other(step.X))


def agreement(gold: Rows, teacher: Rows, classes: int, barred: Tensor | None = None) -> Tensor:
    """Cohen's kappa between gold's labels and the vote of their nearest teachers: [S].

    barred: [g, n], which rows may not vote on which.
    """
    far = distance(gold.X, teacher.X).masked_fill_(~teacher.mask[:, None], torch.inf)  # [S, g, n]
    if barred is not None:
        far.masked_fill_(barred, torch.inf)
    near = far.topk(min(NEIGHBOURS, far.shape[2]), largest=False)
    votes = F.one_hot(take(teacher.y, near.indices), classes) * near.values.isfinite()[..., None]
    given = votes.sum(2).argmax(2)  # [S, g]
    real, n = gold.mask[:, :, None], gold.count.clamp(min=1)
    mine, theirs = F.one_hot(gold.y, classes) * real, F.one_hot(given, classes) * real  # [S, g, C]
    same = (mine * theirs).sum((1, 2)) / n
    by_chance = (mine.sum(1) * theirs.sum(1)).sum(1) / n**2
    return (same - by_chance) / (1 - by_chance).clamp(min=1e-9)
