"""The short lookback: which (at most `size`) pseudo-labelled rows survive a step."""

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from sdsl.core.fields import choice, number
from sdsl.core.learner import Learner
from sdsl.core.ranking import rank_in_class
from sdsl.core.replica import Draws, Rows, take

LEAST = 5  # rows of a rare class: as many as vote on a gold row in algorithms/trust.py


@dataclass
class Lookback:
    """stratified: so many of each class, at random; nearest: those nearest to its prototype."""

    size: int = number(low=0)
    select: str = choice("stratified", "random", "nearest")
    shares: str = choice("equal", "kept")  # kept: those of the labelled rows, but LEAST of a class

    def keep(self, rows: Rows, learner: Learner, draws: Draws) -> Rows:
        n = rows.X.shape[1]
        if not n:
            return rows
        key = draws.uniform(n)
        if self.select == "nearest":
            key = prototype_distance(rows, learner)
        if self.select != "random":
            rank = rank_in_class(key.masked_fill(~rows.mask, torch.inf), rows.y, learner.classes)
            if self.shares == "kept":
                key = (rank + 0.5) / take(self.quotas(rows, learner.classes), rows.y)
            else:
                key = rank + key / (1 + key.abs().amax(1, True))
        # Where nothing has to go the rows keep their order, which is the queue's in RECORD.
        key = torch.where((rows.count <= self.size)[:, None], torch.arange(n), key)
        order = key.masked_fill(~rows.mask, torch.inf).argsort(dim=1, stable=True)[:, : self.size]
        return Rows(take(rows.X, order), take(rows.y, order), rows.count.clamp(max=self.size))

    def quotas(self, rows: Rows, classes: int) -> Tensor:
        """Rows to keep of each class: by its share, but not fewer than LEAST, [S, C]."""
        members = F.one_hot(rows.y, classes) * rows.mask[:, :, None]
        share = members.sum(1) / rows.count.clamp(min=1)[:, None]
        return (self.size * share).clamp(min=min(LEAST, self.size / classes)).clamp(min=1e-9)


def prototype_distance(rows: Rows, learner: Learner) -> Tensor:
    """1 - cos(f(x), u_y) to the mean feature of the row's own class: [S, n] in [0, 2]."""
    f = learner.features(rows.X)  # [S, n, m]
    members = F.one_hot(rows.y, learner.classes).float() * rows.mask[:, :, None]
    u = members.transpose(1, 2) @ f  # direction is all that cosine needs
    return 1 - F.cosine_similarity(f, take(u, rows.y), dim=2)
