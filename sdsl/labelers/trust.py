"""Trust in gold, and prototypes with class shares: the two parts of `ours` that the paper lacks.

trust = overlap(D, X_t)^a agreement(D, D_{t-1})^b, in [0, 1]. overlap: how often the nearest
neighbour of a row of X_t is a gold row, against how often it would be if both had one distribution.
agreement: Cohen's kappa of gold's labels with the vote of their nearest lookback rows, against that
of gold's own rows, as many. Where nothing drifts both are near 1, whatever the noise and the
dimension. Overlap asks for no label, so it falls where classes move even while gold's own pull
keeps labels in agreement; agreement stays low where classes have changed places and overlap is
back. High powers let go before they cross, when a little gold decides.

Shares make Eq. 4 Bayes' rule, so that a rare class is not filled up:
y(x) = argmax_c (1 - w/2) [log share_c - d(x, u_c)^2 / 2] + (w/2) log p_c(x), w = trust; the shares
and the scale of d are found by EM (Dempster et al., 1977), the prototypes standing still.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.contract import Step
from sdsl.core.rows import Rows
from sdsl.core.settings import Weight, settings

QUERIES = 500  # rows of X_t whose nearest neighbour is looked up; they stand in random order
NEIGHBOURS = 5  # rows that vote on a gold row
RIDGE = 1e-6  # of the mean variance: two prototypes may coincide
ROUNDS = 5  # of EM


@settings
class Trust:
    """The two powers; 0 and 0 is the paper's, gold at full weight."""

    overlap: Weight
    agreement: Weight

    def __call__(self, step: Step, classes: int) -> Tensor:
        """A number in [0, 1]; 1 while there are too few lookback rows for a vote."""
        if not (self.overlap or self.agreement) or len(step.lookback) < NEIGHBOURS:
            return torch.ones(())
        near = step.once("overlap", lambda: overlap(step.gold.X, step.X))
        same = step.once("agreement", lambda: agreement(step.gold, step.lookback, classes))
        return near**self.overlap * same**self.agreement


def overlap(gold: Tensor, X: Tensor) -> Tensor:
    """Observed over expected share of rows of X [n, d] with their neighbour in gold, at most 1."""
    asked, n = X[:QUERIES], len(X)
    to_others = distance(asked, X)
    to_others.fill_diagonal_(torch.inf)  # a row is no neighbour of its own
    share = (distance(asked, gold).amin(1) < to_others.amin(1)).double().mean()
    expected = torch.tensor(len(gold) / (len(gold) + n - 1))
    return (share / expected.clamp(min=1e-9)).clamp(max=1).float()


def agreement(gold: Rows, teacher: Rows, classes: int) -> Tensor:
    """Kappa of gold with the lookback, over that of gold with its own rows, in [0, 1]."""
    own = gold[: len(teacher)]
    itself = torch.eye(len(gold), len(own), dtype=torch.bool)
    best = kappa(gold, own, classes, itself)
    # With one gold row per class there is no leave-one-out agreement to divide by.
    ratio = kappa(gold, teacher, classes) / torch.where(best > 0, best, 1)
    return ratio.clamp(0, 1)


def kappa(gold: Rows, teacher: Rows, classes: int, barred: Tensor | None = None) -> Tensor:
    """Cohen's kappa between gold's labels and the vote of their nearest teachers.

    barred [g, n]: a row has no vote on itself.
    """
    far = distance(gold.X, teacher.X)  # [g, n]
    if barred is not None:
        far.masked_fill_(barred, torch.inf)
    near = far.topk(min(NEIGHBOURS, far.shape[1]), largest=False)
    votes = F.one_hot(teacher.y[near.indices], classes) * near.values.isfinite()[..., None]
    mine, theirs = (F.one_hot(y, classes) for y in (gold.y, votes.sum(1).argmax(1)))  # [g, C]
    n = torch.tensor(len(gold))
    same, by_chance = (mine * theirs).sum() / n, (mine.sum(0) * theirs.sum(0)).sum() / n**2
    return (same - by_chance) / (1 - by_chance).clamp(min=1e-9)


def assign_by_shares(
    f: Tensor,
    U: Tensor,
    y: Tensor,
    logits: Tensor,
    trust: Tensor,
    before: Tensor,
    rounds: int = ROUNDS,
) -> tuple[Tensor, Tensor]:
    """(labels [n], shares [C]) of features f [n, m] by prototypes U [C, m] and logits [n, C].

    y: as the rows stand now. before [C]: rows that the last shares stand for. From the new rows
    alone EM would rather cut a large class in two than find a small one. The logits weigh by the
    trust in gold: where gold still holds, so does the network that was fitted to it.
    """
    f, U, classes = f.double(), U.double(), len(U)
    origin = U.mean(0)
    # Only the span of the prototypes tells classes apart: C - 1 directions.
    span = torch.linalg.svd(U - origin, full_matrices=False)[2][: classes - 1].T
    z, u = (f - origin) @ span, (U - origin) @ span  # [n, k], [C, k]
    score = members = F.one_hot(y, classes).double()  # [n, C]
    share = before
    for _ in range(rounds):
        size = members.sum(0)
        share = size + before + 1  # an empty class may come back
        share = share / share.sum()
        L = torch.linalg.cholesky(spread(z, u, members, size))
        scaled = [torch.linalg.solve_triangular(L, rows.T, upper=False).T for rows in (z, u)]
        score = share.log() - distance(*scaled).square() / 2
        members = score.softmax(1)
    w = trust.double() / 2
    return ((1 - w) * score + w * logits.double().log_softmax(1)).argmax(1), share


def spread(z: Tensor, u: Tensor, members: Tensor, size: Tensor) -> Tensor:
    """Mean of (z - u_y)(z - u_y)^T over the rows, [k, k], with a ridge."""
    across = u.T @ (members.T @ z)
    within = (z.T @ z - across - across.T + (u.T * size) @ u) / len(z)
    mean = within.diagonal().mean().clamp(min=1e-12)
    return within + RIDGE * mean * torch.eye(len(within), dtype=z.dtype)


def distance(a: Tensor, b: Tensor) -> Tensor:
    """Euclidean [n, m], without the matrix product that would cancel near zero."""
    return torch.cdist(a, b, compute_mode="donot_use_mm_for_euclid_dist")
