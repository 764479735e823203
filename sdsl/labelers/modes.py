"""Several prototypes a class: the modes of the rows kept from t-1, moved on to X_t (Lloyd 1982).

y(x) = c of the nearest u_{c,k};  u_{c,k} = mean of z over its rows;  z(x) = [x, f(x)].
"""

from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.algorithms.clustering import distance, lloyd
from sdsl.algorithms.semantics import class_means
from sdsl.algorithms.trust import Trust
from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number, setting
from sdsl.core.learner import Learner
from sdsl.core.replica import Rows, take
from sdsl.core.training import Training

WITHIN = 10  # Lloyd's steps that find a class's modes among its labelled rows


@dataclass
class Modes(Labeler):
    modes: int = number(low=1)  # prototypes a class
    rounds: int = number(low=0)  # Lloyd's steps on X_t
    trust: Trust = setting()  # how gold's weight falls
    fit: Training = setting()  # of f, on gold and lookback

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
        U, empty = modes(represent(known.X), known, learner.classes, self.modes)
        z, barred = represent(step.X), empty[:, None]
        U = moved(z, U, barred, torch.ones(z.shape[:2]), self.rounds)
        y = nearest(z, U, barred) // self.modes
        return Pseudo(y, Rows.full(step.X, y), {"gold_trust": kept})


def spread(z: Tensor) -> Tensor:
    """Root mean squared distance to the mean: [S, 1, 1]."""
    far = (z - z.mean(1, keepdim=True)).square().sum(2)
    return far.mean(1).sqrt().clamp(min=1e-9)[:, None, None]


def modes(z: Tensor, rows: Rows, classes: int, k: int) -> tuple[Tensor, Tensor]:
    """(k modes a class [S, C k, m], whether they are of a class without rows [S, C k])."""
    own = rows.y[:, :, None] == torch.arange(classes)  # [S, n, C]
    own = own & rows.mask[:, :, None]
    far = distance(z, class_means(z, rows.y, classes, rows.mask)[0])  # [S, n, C]
    found = []
    for _ in range(k):  # each the farthest from those before it, the first from the mean
        found.append(take(z, far.masked_fill(~own, -1).argmax(1)))  # [S, C, m]
        to = distance(z, found[-1])
        far = to if len(found) == 1 else torch.minimum(far, to)
    U = torch.stack(found, 2).flatten(1, 2)
    others = ~own.repeat_interleave(k, 2)  # a row belongs to the modes of its own class
    U = moved(z, U, others, rows.mask.float(), WITHIN)
    return U, ~own.any(1).repeat_interleave(k, 1)


def moved(z: Tensor, U: Tensor, barred: Tensor, w: Tensor, rounds: int) -> Tensor:
    """Each prototype to the mean of the rows nearest to it; one without rows stays."""

    def update(near: Tensor, U: Tensor) -> Tensor:
        mean, size = class_means(z, near, U.shape[1], w)
        return torch.where(size > 0, mean, U)

    return lloyd(U, lambda U: nearest(z, U, barred), update, rounds)


def nearest(z: Tensor, U: Tensor, barred: Tensor) -> Tensor:
    """The nearest prototype of every row, of those it may have: [S, n]."""
    return distance(z, U).masked_fill(barred, torch.inf).argmin(2)
