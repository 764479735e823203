"""The short lookback: which (at most `size`) pseudo-labelled rows survive a step."""

from typing import Literal

import torch.nn.functional as F
from torch import Tensor

from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows, rank_in_class
from sdsl.core.settings import Count, settings

RARE = 5  # rows that a rare class keeps, whatever its share


@settings
class Lookback:
    """stratified: so many of each class, at random; nearest: those nearest to its prototype."""

    size: Count
    select: Literal["stratified", "random", "nearest"]
    shares: Literal["equal", "kept"]  # kept: those of the labelled rows, but RARE rows of a class

    def keep(self, rows: Rows, learner: Learner, draws: Draws) -> Rows:
        """At most `size` of the rows; all of them, in their order, where there are no more."""
        key = draws.uniform(len(rows))
        if len(rows) <= self.size:
            return Rows(rows.X.clone(), rows.y.clone())  # a view would keep the segment
        if self.select == "nearest":
            key = prototype_distance(rows, learner)
        if self.select != "random":
            rank = rank_in_class(key, rows.y, learner.classes)
            if self.shares == "kept":
                key = (rank + 0.5) / self.quotas(rows, learner.classes)[rows.y]
            else:
                key = rank + key / (1 + key.abs().amax())
        return rows[key.argsort(stable=True)[: self.size]]

    def quotas(self, rows: Rows, classes: int) -> Tensor:
        """Rows to keep of each class: by its share, but not fewer than RARE, [C]."""
        share = F.one_hot(rows.y, classes).sum(0) / max(1, len(rows))
        return (self.size * share).clamp(min=min(RARE, self.size / classes)).clamp(min=1e-9)


def prototype_distance(rows: Rows, learner: Learner) -> Tensor:
    """1 - cos(f(x), u_y) to the mean feature of the row's own class: [n] in [0, 2]."""
    f = learner.features(rows.X)  # [n, m]
    u = F.one_hot(rows.y, learner.classes).float().T @ f  # direction is all that cosine needs
    return 1 - F.cosine_similarity(f, u[rows.y], dim=1)
