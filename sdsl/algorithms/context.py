"""Prediction of a batch in context: which times of the past, or the present, explain its rows?

Candidates are the present, with prior probability lambda, and U times u of memory that share the
rest. One time for all rows: w_u ~ prior_u prod_i p(x_i | u)^(min(n, TRUST) / n); the power keeps
many rows from shouting down what a crude density cannot know. Several times in one batch: weights w
that maximise sum_i log sum_u w_u p(x_i | u), by EM, taken where they explain a row better by MARGIN
on average. Labels: argmax_c sum_u w_u p(x, c | u).
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from sdsl.algorithms.gaussians import LOG_2PI
from sdsl.algorithms.memory import Clusters
from sdsl.algorithms.recall import products, shares

TIMES = 64  # at most, evenly spread over the past
SEARCH = 24  # rows of a batch that choose the likely times; all rows decide between these
LIKELY = 6  # times that all rows of a batch see
NEGLIGIBLE = -9.0  # log share at a time from which on a cluster is left out
TRUST = 30.0  # rows at most that the evidence of a batch counts for
MARGIN = 0.2  # nats per row by which several times must explain a batch better than one
ROUNDS = 8  # of EM
NO = -1e300  # log of a weight of nothing, safe to add


@dataclass(frozen=True)
class Grid:
    """The clusters that matter at U times u: J of them at each."""

    index: Tensor  # [U, J] of clusters
    level: Tensor  # [U, J] the part of log w_k(u) N(z; ...) that does not depend on z
    ahead: Tensor  # [U, J] u - tau_k

    @classmethod
    def of(cls, c: Clusters, last: float) -> "Grid":
        times = torch.linspace(0, last, int(min(last + 1, TIMES)), dtype=torch.float64)
        share = shares(c, times)
        J = int((share > NEGLIGIBLE).sum(1).max())
        share, index = share.topk(J, dim=1)
        ahead = times[:, None] - c.tau[index]
        pull = (c.slope.square() / c.rest).sum(1)
        fixed = (c.rest.log() + LOG_2PI).sum(1)
        return cls(index, share - 0.5 * (ahead.square() * pull[index] + fixed[index]), ahead)

    def joint(self, far: Tensor, along: Tensor, u: Tensor) -> Tensor:
        """log w_k(u) N(z; m_k(u), R_k) from `products` [B, K, n] at u [B, H]: [B, H, J, n]."""
        B, K, n = far.shape
        place = (self.index[u] + K * torch.arange(B)[:, None, None]).flatten()
        far, along = (a.reshape(B * K, n).index_select(0, place) for a in (far, along))
        near = torch.addcmul(self.level[u].view(-1, 1), self.ahead[u].view(-1, 1), along)
        return near.sub_(far, alpha=0.5).view(*u.shape, -1, n)


def in_context(
    now: Tensor, c: Clusters, Z: Tensor, log_det: Tensor, last: float, present: float
) -> Tensor:
    """log p(x, c) of B batches of n rows: now [B, n, C] is log p_now, Z [B, n, d]; [B, n, C]."""
    (B, n, C), grid = now.shape, Grid.of(c, last)
    far, along = (a.view(B, n, -1).mT for a in products(c, Z.flatten(0, 1))[:2])  # [B, K, n]
    U = len(grid.index)
    prior = now.new_full((U + 1,), (1 - present) / U)
    prior[0] = present
    prior = prior.log().clamp(min=NO)
    # Some rows choose among all times.
    some = torch.linspace(0, n - 1, min(n, SEARCH)).round().long()
    past = grid.joint(far[:, :, some], along[:, :, some], torch.arange(U).expand(B, U))
    like = torch.cat([now[:, None, some].logsumexp(3), log_sum(past) + log_det], 1)  # [B, U + 1, m]
    one, many = posterior(like, prior, n), several(like, prior)
    mixed = (explained(like, many) - explained(like, one)).mean(1) > MARGIN  # [B]
    # All rows decide between the likely ones.
    weight, top = torch.where(mixed[:, None], many, one)[:, 1:].topk(min(LIKELY, U), dim=1)
    joint = grid.joint(far, along, top) + log_det  # [B, H, J, n]
    past = by_owner(joint, c.owner[grid.index[top]], C)
    classes = torch.cat([now.mT[:, None], past], 1)  # [B, 1 + H, C, n]
    first, rest = prior[:1].expand(B, 1), prior[1:][top]
    one = posterior(classes.logsumexp(2), torch.cat([first, rest], 1), n)
    final = torch.where(mixed[:, None], torch.cat([many[:, :1], weight], 1), one)
    return log_sum((classes + final[:, :, None, None]).transpose(1, 2)).mT


def posterior(like: Tensor, prior: Tensor, n: int) -> Tensor:
    """log w [B, U] if all rows are of one time: like [B, U, m] of rows that stand for n."""
    return (prior + like.clamp(min=NO).mean(2) * min(n, TRUST)).log_softmax(1)


def several(like: Tensor, prior: Tensor) -> Tensor:
    """log w [B, U] that maximise sum_i log sum_u w_u p(x_i | u) + sum_u prior_u log w_u, by EM."""
    P = (like - like.amax(1, keepdim=True).clamp(min=NO)).exp()  # [B, U, m]
    start = prior.exp()
    w = start.expand(len(like), -1)
    for _ in range(ROUNDS):
        each = (w[:, None] @ P).clamp(min=1e-300)  # [B, 1, m]
        w = (start + w * (P @ (1 / each).mT).squeeze(2)) / (1 + like.shape[2])
    return w.log().clamp(min=NO)


def explained(like: Tensor, weight: Tensor) -> Tensor:
    """log sum_u w_u p(x_i | u): [B, m]."""
    return (like.clamp(min=NO) + weight[:, :, None]).logsumexp(1)


def log_sum(a: Tensor) -> Tensor:
    """logsumexp over the last dimension but one: faster than the library's where that is short."""
    top = a.amax(-2, keepdim=True).clamp(min=NO)
    return (a - top).exp().sum(-2).log() + top.squeeze(-2)


def by_owner(joint: Tensor, owner: Tensor, classes: int) -> Tensor:
    """log p(x, c | u) from components [B, H, J, n] with classes owner [B, H, J]: [B, H, C, n]."""
    top = joint.amax(2, keepdim=True).clamp(min=NO)
    members = one_hot(owner, classes).to(joint.dtype)  # [B, H, J, C]
    return (members.mT @ (joint - top).exp()).log() + top
