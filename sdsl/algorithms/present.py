"""The present as labelled rows show it: p_now(x, c) = sum_{k of c} w_k N(x; m_k, S_k).

Fitted to rows with labels by EM within each class; S_k = (A_k + d P) / (n_k + d), where A_k is the
scatter of a component and P the ridged mean covariance of all of them.
"""

import math
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

LOG_2PI = math.log(2 * math.pi)
RIDGE = 1e-4
ROUNDS = 8
LEAST = 5  # rows per feature that a component must have


class Present(Protocol):
    """What memory asks of one replica's model of the present: the tracker's mixture, or ours."""

    @property
    def owner(self) -> Tensor:
        """The class of each component: [K]."""
        ...

    @property
    def numbers(self) -> int:
        """How many numbers it holds."""
        ...

    def joint(self, X: Tensor) -> Tensor:
        """log w_k N(x; m_k, S_k) of scaled rows X [n, d], float64: [n, K]."""
        ...


@dataclass(frozen=True)
class Gaussians:
    """K Gaussians with classes; S is [K, d, d], shared [1, d, d], or variances [K, d]."""

    owner: Tensor
    w: Tensor  # [K]
    m: Tensor  # [K, d]
    S: Tensor

    @property
    def numbers(self) -> int:
        K, d = self.m.shape
        square = self.S.dim() == 3
        return 2 * K + K * d + (len(self.S) * d * (d + 1) // 2 if square else self.S.numel())

    def joint(self, X: Tensor) -> Tensor:
        X = X.double()
        if self.S.dim() == 2:
            far = X.square() @ (1 / self.S).mT - 2 * X @ (self.m / self.S).mT
            far = (far + (self.m.square() / self.S).sum(1)).clamp(min=0)
            log_det = self.S.log().sum(1)
        else:
            L = torch.linalg.cholesky(self.S)
            gap = (X - self.m[:, None]).mT  # [K, d, n]
            far = torch.linalg.solve_triangular(L, gap, upper=False).square().sum(1).mT
            log_det = 2 * L.diagonal(dim1=1, dim2=2).log().sum(1)
        return self.w.log() - 0.5 * (log_det + X.shape[1] * LOG_2PI + far)


def by_class(joint: Tensor, owner: Tensor, classes: int) -> Tensor:
    """log p(x, c) from the components' [..., K]: [..., C]; a class without one has -inf."""
    none = joint.new_full(joint.shape[:-1], -torch.inf)
    members = [owner == c for c in range(classes)]
    parts = [joint[..., own].logsumexp(-1) if own.any() else none for own in members]
    return torch.stack(parts, -1)


def form(d: int, K: int, C: int) -> str:
    """The richest covariances with which K components hold no more numbers than the network."""
    most = (d + 1) * 100 + 101 * 100 + 101 * C - K * (d + 2)
    square = d * (d + 1) // 2
    return "full" if K * square <= most else "shared" if square <= most else "diagonal"


def fit(X: Tensor, y: Tensor, classes: int, parts: int) -> Gaussians:
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
    own = torch.tensor(owner)
    shape = form(d, len(owner), classes)
    r = torch.nn.functional.one_hot(group, len(owner)).double()
    found = estimate(X, r, own, shape)
    if len(own) > len(y.unique()):
        foreign = own != y[:, None]
        for _ in range(ROUNDS):
            r = found.joint(X).masked_fill(foreign, -torch.inf).softmax(1)
            found = estimate(X, r, own, shape)
    return found


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


def estimate(X: Tensor, r: Tensor, owner: Tensor, shape: str) -> Gaussians:
    """The M-step."""
    n, d = X.shape
    count = r.sum(0)
    m = r.mT @ X / count.clamp(min=1e-9)[:, None]
    eye = torch.eye(d, dtype=X.dtype)
    w = (count + 1e-3) / (count + 1e-3).sum()
    if shape == "diagonal":
        A = r.mT @ X.square() - count[:, None] * m.square()
        A = A.clamp(min=0)
        P = A.sum(0) / n
        P = (n * P + 0.5 * d * P.mean()) / (n + 0.5 * d) + RIDGE
        return Gaussians(owner, w, m, (A + d * P) / (count + d)[:, None])
    gap = X - m[:, None]  # [K, n, d]
    A = (gap * r.mT[:, :, None]).mT @ gap
    P = A.sum(0) / n
    P = (n * P + 0.5 * d * P.diagonal().mean() * eye) / (n + 0.5 * d) + RIDGE * eye
    S = P[None] if shape == "shared" else (A + d * P) / (count + d)[:, None, None]
    return Gaussians(owner, w, m, S)
