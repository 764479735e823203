"""Prototypes with class shares: Eq. 4 as Bayes' rule, so that a rare class is not filled up.

y(x) = argmax_c (1 - w/2) [log share_c - d(x, u_c)^2 / 2] + (w/2) log p_c(x);  the shares and the
scale of d are found by EM (Dempster et al., 1977), the prototypes standing still. The last shares
count as so many more rows: from the new rows alone EM would rather cut a large class in two than
find a small one. The nearest prototype alone draws the border midway between two classes, whatever
their sizes: of a class of one row in twenty, the large class's edge has as many rows as the class
itself. w is the trust in gold: where gold still holds, so does the network that was fitted to it.
"""

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.algorithms.clustering import distance
from sdsl.core.contract import Step

RIDGE = 1e-6  # of the mean variance: two prototypes may coincide
ROUNDS = 5  # of shares and scale, the prototypes standing still


def assign_by_shares(
    f: Tensor,
    U: Tensor,
    y: Tensor,
    logits: Tensor,
    trust: Tensor,
    before: Tensor,
    rounds: int = ROUNDS,
) -> tuple[Tensor, Tensor]:
    """(labels [S, n], shares [S, C]): those of `by_shares`, the network having a say."""
    own, share = by_shares(f, U, y, before, rounds)
    w = trust.double()[:, None, None] / 2
    return ((1 - w) * own + w * logits.double().log_softmax(2)).argmax(2), share


def by_shares(
    f: Tensor, U: Tensor, y: Tensor, before: Tensor, rounds: int
) -> tuple[Tensor, Tensor]:
    """(log share_c - d^2 / 2 [S, n, C], shares [S, C]) of features f [S, n, m], prototypes
    U [S, C, m]. y: as the rows stand now; before [S, C]: rows that the last shares stand for.
    """
    f, U, classes = f.double(), U.double(), U.shape[1]
    origin = U.mean(1, keepdim=True)
    # Only the span of the prototypes tells classes apart: C - 1 directions.
    span = torch.linalg.svd(U - origin, full_matrices=False)[2][:, : classes - 1].mT
    z, u = (f - origin) @ span, (U - origin) @ span  # [S, n, k], [S, C, k]
    score = F.one_hot(y, classes).double()
    members, share = score, before  # [S, n, C], [S, C]
    for _ in range(rounds):
        size = members.sum(1)
        share = size + before + 1  # an empty class may come back
        share = share / share.sum(1, keepdim=True)
        L = torch.linalg.cholesky(spread(z, u, members, size))
        scaled = [torch.linalg.solve_triangular(L, rows.mT, upper=False).mT for rows in (z, u)]
        score = share.log()[:, None] - distance(*scaled).square() / 2
        members = score.softmax(2)
    return score, share


def stands_for(step: Step) -> Tensor:
    """Rows of a segment [S], so that the last shares outweigh a segment of one row."""
    return step.lookback.count.clamp(min=step.X.shape[1])


def counted(y: Tensor, classes: int, mask: Tensor) -> Tensor:
    """Rows of each class, padding left out: [S, C]."""
    return (F.one_hot(y, classes) * mask[:, :, None]).sum(1).double()


def spread(z: Tensor, u: Tensor, members: Tensor, size: Tensor) -> Tensor:
    """Mean of (z - u_y)(z - u_y)^T over the rows, [S, k, k], with a ridge."""
    across = u.mT @ (members.mT @ z)
    within = z.mT @ z - across - across.mT + (u.mT * size[:, None]) @ u
    within = within / z.shape[1]
    mean = within.diagonal(dim1=1, dim2=2).mean(1).clamp(min=1e-12)
    return within + RIDGE * mean[:, None, None] * torch.eye(z.shape[2], dtype=z.dtype)
