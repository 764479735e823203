"""Where did the whole picture go? A shift, a growth and a turn that a prediction missed.

Candidates move all components together, z -> c' + s R(a) (z - c): c' is the mean of the segment's
rows, s the growth of their spread, a an angle in the plane in which the components lie widest, all
where the pooled covariance is 1. The candidate with the largest
mean log p(x) - LEAP (|a| - a0)^2 / pi^2 - GROWTH log^2 s - GAIN (0 for the prediction itself)
is where EM starts. Turns that explain the rows alike are told apart by a0, 0 if there is a past.
Without one it is the turn that gold shows: rows that turn by a within one segment are smeared along
their way by a^2 r^2 / 12.
"""

import math
from dataclasses import dataclass, fields, replace

import torch
from torch import Tensor

from sdsl.algorithms.gaussians import FEW, LOG_2PI, roots
from sdsl.algorithms.mixture import Mixture, log_density

ANGLES = 36  # tried, evenly around; twice as many without a past
LEAP = 10.0  # nats a row that a half turn must gain
GROWTH = 2.0
GAIN = 0.1  # nats a row that any candidate must gain over the prediction
SURPRISE = 0.25  # nats a row below what a mixture expects of itself, from which on turns are tried
SHIFT = 0.3  # of a missed shift that becomes velocity; all of it without a past
MOST = 200  # rows that decide
APART = 2.0  # standard deviations from the centre from which on a component shows a turn
BEST = 4  # turns that all of them see


def even(S: Tensor) -> Tensor:
    return (S + S.mT) / 2


def centre(mix: Mixture) -> Tensor:
    return mix.weight[:, None] @ mix.mean  # [M, 1, d]


def whitened(mix: Mixture) -> tuple[Mixture, Tensor, Tensor]:
    """(the mixture where its pooled covariance is 1, the way there [M, d, d], the way back)."""
    L, W = roots(mix.pooled)
    eye = torch.eye(L.shape[1], dtype=L.dtype).expand_as(L)
    cov = W[:, None] @ mix.cov @ W.mT[:, None]
    return replace(mix, mean=mix.mean @ W.mT, cov=cov, pooled=eye), W, L


def widest(mix: Mixture) -> Tensor:
    """The plane in which the components' means lie widest: orthonormal [M, d, 2]."""
    z = mix.weight.sqrt()[..., None] * (mix.mean - centre(mix))
    return torch.linalg.eigh(z.mT @ z)[1][..., -2:]


def smear(mix: Mixture, n: int) -> float:
    """The turn within a segment of n rows that one whitened mixture shows, in radians.

    Components near the centre show none, and chance must not explain it.
    """
    plane = widest(mix)
    z, S = (mix.mean - centre(mix)) @ plane, plane.mT[:, None] @ mix.cov @ plane[:, None]
    r = z.square().sum(2)  # [1, K]
    out = z / r.sqrt().clamp(min=1e-9)[..., None]
    along = torch.stack([-out[..., 1], out[..., 0]], 2)
    excess = ((along[..., None, :] @ S) * along[..., None, :]).sum((2, 3))
    excess = excess - ((out[..., None, :] @ S) * out[..., None, :]).sum((2, 3))
    w = mix.weight * r * (r > APART**2)
    size = (w * excess).sum() / (w * r).sum().clamp(min=1e-9)
    if float(size) < 4 / math.sqrt(n * max(float((w * r).sum()), 1e-9)):  # two standard errors
        return 0.0
    return min(math.sqrt(max(12 * float(size), 0.0)), math.pi / 2)


def turns(plane: Tensor, angles: Tensor) -> Tensor:
    """Rotations by angles [A] in the plane [M, d, 2]: [A, M, d, d]."""
    a, b = plane[..., :1], plane[..., 1:]
    flat, skew = a @ a.mT + b @ b.mT, b @ a.mT - a @ b.mT
    c, s = angles.cos()[:, None, None, None], angles.sin()[:, None, None, None]
    return torch.eye(plane.shape[1], dtype=plane.dtype) + (c - 1) * flat + s * skew


def around(count: int) -> Tensor:
    """Angles between -pi and pi, without 0: [count - 1]."""
    angles = torch.arange(1, count, dtype=torch.float64) * (2 * math.pi / count)
    return torch.where(angles > math.pi, angles - 2 * math.pi, angles)


def growth(mix: Mixture, white: Mixture, X: Tensor, W: Tensor) -> Tensor:
    """How much further apart the components of rows X [n, d], whitened by W, must lie: [M]."""
    within = (mix.weight * white.cov.diagonal(dim1=2, dim2=3).sum(2)).sum(1)
    apart = (mix.weight * (white.mean - centre(white)).square().sum(2)).sum(1)
    x = X - X.mean(0)
    total = ((W @ (x.T @ x / len(x))) * W).sum((1, 2))  # the trace of W S W'
    return ((total - within).clamp(min=1e-9) / apart.clamp(min=1e-9)).sqrt().clamp(0.5, 2)


def own(mix: Mixture) -> Tensor:
    """The mean log density that a mixture expects of its rows, overlap left out: [M]."""
    log_det = 2 * roots(mix.cov)[0].diagonal(dim1=2, dim2=3).log().sum(2)
    each = mix.weight.clamp(min=1e-300).log() - 0.5 * (log_det + mix.mean.shape[2] * (1 + LOG_2PI))
    return (mix.weight * each).sum(1)


@dataclass(frozen=True)
class Moves:
    """A candidates for each of M members: rotations R, growths s, and what they cost."""

    R: Tensor  # [A, M, d, d]
    s: Tensor  # [A, M]
    cost: Tensor  # [A, M]

    def of(self, mix: Mixture, to: Tensor) -> Mixture:
        """All of them as mixtures [A M], with their centres at `to` [d]."""
        A = len(self.R)
        mean = to + self.s[..., None, None] * ((mix.mean - centre(mix)) @ self.R.mT)
        cov = mix.cov.expand(A, *mix.cov.shape)
        pooled = mix.pooled.expand(A, *mix.pooled.shape)
        if mix.form == "full":
            cov = even(self.R[:, :, None] @ cov @ self.R.mT[:, :, None])
            pooled = even(self.R @ pooled @ self.R.mT)
        weight, owner = (a.expand(A, *a.shape) for a in (mix.weight, mix.owner))
        return Mixture(*(a.flatten(0, 1) for a in (mean, cov, weight, pooled, owner)))

    def value(self, mix: Mixture, rows: Tensor, to: Tensor) -> Tensor:
        return likely(self.of(mix, to), rows).view_as(self.cost) - self.cost

    def pick(self, best: Tensor) -> "Moves":
        """The candidates best [B, M] of each member."""
        m = torch.arange(best.shape[1])
        return Moves(self.R[best, m], self.s[best, m], self.cost[best, m])

    def since(self, first: int) -> "Moves":
        """Those of the members from `first` on."""
        return Moves(self.R[:, first:], self.s[:, first:], self.cost[:, first:])

    def joined(self, other: "Moves") -> "Moves":
        pairs = [(getattr(self, f.name), getattr(other, f.name)) for f in fields(self)]
        return Moves(*(torch.cat(pair) for pair in pairs))


def likely(mix: Mixture, rows: Tensor) -> Tensor:
    """mean log p(x): [M]."""
    return log_density(mix, rows).mean(1)


def shifts(mix: Mixture, grow: Tensor | None, leap: float) -> Moves:
    """To where the rows are, as large as it is or grown by grow [M]."""
    M, d = len(mix.mean), mix.mean.shape[2]
    one = mix.mean.new_ones(1, M)
    s = one if grow is None else torch.cat([one, grow[None]])
    R = torch.eye(d, dtype=one.dtype).expand(len(s), M, d, d)
    return Moves(R, s, leap + GAIN + GROWTH * s.log().square())


def likeliest(
    moves: Moves, mix: Mixture, rows: Tensor, to: Tensor, first: int
) -> tuple[Moves, Tensor]:
    """The BEST candidates of each member and their values [BEST, M]; -inf before member `first`.

    A quarter of the rows finds them, all rows value them.
    """
    some = Mixture(*(getattr(mix, f.name)[first:] for f in fields(Mixture)))
    coarse = moves.since(first).value(some, rows[::4], to)
    best = torch.nn.functional.pad(coarse.topk(BEST, 0).indices, (first, 0))
    moves = moves.pick(best)
    value = moves.since(first).value(some, rows, to)
    return moves, torch.nn.functional.pad(value, (first, 0), value=-torch.inf)


def registered(
    mix: Mixture, velocity: Tensor, X: Tensor, still: int, turn: float | None
) -> tuple[Mixture, Tensor]:
    """Prediction and velocities [M, K, d] moved as rows X [n, d] show.

    The first `still` members know no turns. turn: a0 where there is no past, None where there is.
    """
    to, a0, full = X.mean(0), turn or 0.0, mix.form == "full"
    rows = X[torch.linspace(0, len(X) - 1, min(len(X), MOST)).round().long()]
    leap = LEAP * (a0 / math.pi) ** 2
    if full:
        white, W, L = whitened(mix)
        grow = growth(mix, white, X, W)
    moves = shifts(mix, grow if full else None, leap)
    stays, value = likely(mix, rows) - leap, moves.value(mix, rows, to)
    if full and X.shape[1] <= FEW:
        first = 0 if turn is not None else still
        lost = torch.maximum(stays, value.amax(0)) < own(mix) - SURPRISE
        if turn is not None or lost[first:].any():
            angles = around(ANGLES * (1 + (turn is not None)))
            R = L @ turns(widest(white), angles) @ W
            cost = GAIN + LEAP * ((angles.abs() - a0) / math.pi).square()[:, None]
            cost = cost + GROWTH * grow.log().square()
            more, found = likeliest(Moves(R, grow.expand(len(R), -1), cost), mix, rows, to, first)
            moves, value = moves.joined(more), torch.cat([value, found])
    top, best = value.max(0, keepdim=True)
    move = moves.pick(best)
    new, goes = move.of(mix, to), (top[0] > stays)[:, None, None]
    shift = centre(new) - centre(mix)  # [M, 1, d]
    turned = move.s[0, :, None, None] * (velocity @ move.R[0].mT)
    velocity = torch.where(goes, turned + (1.0 if turn is not None else SHIFT) * shift, velocity)
    mix = replace(mix, mean=torch.where(goes, new.mean, mix.mean))
    if full:
        pooled = torch.where(goes, new.pooled, mix.pooled)
        mix = replace(mix, cov=torch.where(goes[..., None], new.cov, mix.cov), pooled=pooled)
    return mix, velocity
