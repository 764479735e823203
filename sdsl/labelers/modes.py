"""Several prototypes a class: the modes of the rows kept from t-1, moved on to X_t (Lloyd 1982).

y(x) = c of the nearest u_{c,k};  u_{c,k} = mean of z over its rows;  z(x) = [x, f(x)].
With shares=estimated "nearest" is weighed by how many rows each u_{c,k} has (algorithms/shares.py).
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.algorithms.clustering import distance, lloyd
from sdsl.algorithms.semantics import class_means
from sdsl.algorithms.shares import by_shares, counted, stands_for, with_network
from sdsl.algorithms.trust import Trust
from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import choice, number, setting
from sdsl.core.learner import Learner
from sdsl.core.network import forward
from sdsl.core.replica import Draws, Rows, take
from sdsl.core.training import Training

LEAST = 5  # rows of a mode where shares are estimated
WITHIN = 10  # Lloyd's steps that find a class's modes among its labelled rows


@dataclass
class Modes(Labeler):
    modes: int = number(low=1)  # prototypes a class
    rounds: int = number(low=0)  # Lloyd's steps on X_t
    trust: Trust = setting()  # how gold's weight falls
    fit: Training = setting()  # of f, on gold and lookback
    shares: str = choice("estimated", "equal")  # of the prototypes
    share: float = number(low=0)  # segments that the last shares of the classes stand for

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        size = counted(gold.y, learner.classes, gold.mask)
        self.last_shares = size / size.sum(1, keepdim=True)  # [S, C]

    @torch.no_grad()
    def label(self, step: Step, learner: Learner) -> Pseudo:
        kept = self.trust(step, learner.classes)
        learner.reset()
        learner.fit(self.fit, [step.gold, step.lookback], step.draws, [kept, 2 - kept], step.X)
        # f tells the classes apart as the last step knew them; x keeps apart what f, fitted to a
        # hundred rows, folds together. Each in units of its spread in X_t.
        units = spread(step.X), spread(learner.features(step.X))

        def represent(x: Tensor) -> Tensor:
            return torch.cat([x / units[0], learner.features(x) / units[1]], 2)

        known = step.lookback if step.lookback.X.shape[1] else step.gold  # at t=1 nothing is kept
        C, k, z, known_z = learner.classes, self.modes, represent(step.X), represent(known.X)
        U, empty = modes(known_z, known, C, k)
        if self.shares == "equal":
            U = moved(z, U, empty[:, None], torch.ones(z.shape[:2]), self.rounds)
            y = nearest(z, U, empty[:, None]) // k
        else:
            U, size = supported(known_z, known, U, C)
            part = self.last_shares[:, :, None] * size / size.sum(2, keepdim=True).clamp(min=1)
            before = self.share * stands_for(step)[:, None, None] * part
            score, share = followed(z, U, before.flatten(1), (size == 0).flatten(1), self.rounds)
            self.last_shares = share.unflatten(1, (C, k)).sum(2)
            own = score.unflatten(2, (C, k)).logsumexp(3)
            y = with_network(own, forward(step.X, learner.theta)[1], kept)
        return Pseudo(y, Rows.full(step.X, y), {"gold_trust": kept})


def supported(z: Tensor, rows: Rows, U: Tensor, classes: int) -> tuple[Tensor, Tensor]:
    """(U, the rows of each mode [S, C, k]); a class with a mode of few rows gets one at its mean.

    Two modes of a handful of rows show where these happen to lie, not where the class does.
    """
    k = U.shape[1] // classes
    size = counted(nearest(z, U, foreign(rows, classes, k)), classes * k, rows.mask)
    size = size.unflatten(1, (classes, k))
    few = (size.amin(2) < LEAST)[:, :, None]  # [S, C, 1]
    mean = class_means(z, rows.y, classes, rows.mask)[0]  # [S, C, m]
    first = torch.arange(k) == 0
    U = torch.where(few[..., None] & first[:, None], mean[:, :, None], U.unflatten(1, (classes, k)))
    return U.flatten(1, 2), torch.where(few, first * size.sum(2, keepdim=True), size)


def followed(
    z: Tensor, U: Tensor, before: Tensor, barred: Tensor, rounds: int
) -> tuple[Tensor, Tensor]:
    """Lloyd's steps with shares: (log scores [S, n, C k], shares [S, C k])."""

    def scores(U: Tensor) -> tuple[Tensor, Tensor]:
        # Two modes that pass each other are one long heap: a scale that follows its length is
        # fooled by it.
        near = nearest(z, U, barred[:, None])
        return by_shares(z, U, near, before, even=True, barred=barred)

    every = torch.ones(z.shape[:2])
    U = lloyd(U, lambda U: scores(U)[0].argmax(2), lambda near, U: means(z, near, U, every), rounds)
    return scores(U)


def spread(z: Tensor) -> Tensor:
    """Root mean squared distance to the mean: [S, 1, 1]."""
    far = (z - z.mean(1, keepdim=True)).square().sum(2)
    return far.mean(1).sqrt().clamp(min=1e-9)[:, None, None]


def modes(z: Tensor, rows: Rows, classes: int, k: int) -> tuple[Tensor, Tensor]:
    """(k modes a class [S, C k, m], whether they are of a class without rows [S, C k])."""
    own = ~foreign(rows, classes, 1) & rows.mask[:, :, None]  # [S, n, C]
    far = distance(z, class_means(z, rows.y, classes, rows.mask)[0])  # [S, n, C]
    found = []
    for _ in range(k):  # each the farthest from those before it, the first from the mean
        found.append(take(z, far.masked_fill(~own, -1).argmax(1)))  # [S, C, m]
        to = distance(z, found[-1])
        far = to if len(found) == 1 else torch.minimum(far, to)
    U = torch.stack(found, 2).flatten(1, 2)
    U = moved(z, U, foreign(rows, classes, k), rows.mask.float(), WITHIN)
    return U, ~own.any(1).repeat_interleave(k, 1)


def foreign(rows: Rows, classes: int, k: int) -> Tensor:
    """Modes that a row may not have, being of another class: [S, n, C k]."""
    return (rows.y[:, :, None] != torch.arange(classes)).repeat_interleave(k, 2)


def moved(z: Tensor, U: Tensor, barred: Tensor, w: Tensor, rounds: int) -> Tensor:
    """Each prototype to the mean of the rows nearest to it; one without rows stays."""
    return lloyd(U, lambda U: nearest(z, U, barred), lambda near, U: means(z, near, U, w), rounds)


def means(z: Tensor, near: Tensor, U: Tensor, w: Tensor) -> Tensor:
    mean, size = class_means(z, near, U.shape[1], w)
    return torch.where(size > 0, mean, U)


def nearest(z: Tensor, U: Tensor, barred: Tensor) -> Tensor:
    """The nearest prototype of every row, of those it may have: [S, n]."""
    return distance(z, U).masked_fill(barred, torch.inf).argmin(2)
