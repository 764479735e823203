"""The classifier of present and past: row by row, or a batch at a time in context.

h(x) = argmax_c lambda p_now(x, c) + (1 - lambda) p_mem(x, c); in context, lambda is the prior
probability that a batch is of the present (see context.py).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from sdsl.algorithms.context import Grid, in_context
from sdsl.algorithms.memory import Clusters
from sdsl.algorithms.mixture import by_class
from sdsl.algorithms.past import Past
from sdsl.algorithms.present import Present
from sdsl.algorithms.recall import overall
from sdsl.algorithms.whitening import Whitening
from sdsl.core.finite import scored
from sdsl.core.learner import Learner
from sdsl.core.network import forward

BLOCK = 2048  # rows at a time, in cache


@dataclass(frozen=True, eq=False)
class Recalling:
    """rules: one per replica; None: the network answers, always row by row."""

    learner: Learner
    rules: Sequence[Present | None]
    past: Past
    whitening: Sequence[Whitening]
    present: float  # lambda
    t: int

    def __call__(self, x: Tensor) -> Tensor:
        """Scaled rows x [S, n, d] to labels [S, n]."""
        return scored(self.probabilities(x), "the mixture's probabilities").argmax(2)

    @torch.no_grad()
    def probabilities(self, x: Tensor) -> Tensor:
        """p(c | x), row by row: [S, n, C]."""
        own = self._network(x)
        return torch.stack([self._row_by_row(s, x[s], own) for s in range(len(x))])

    def context(self, x: Tensor) -> Tensor:
        """B batches x [S, B, q, d], each predicted for itself: labels [S, B, q]."""
        own = self._network(x.flatten(1, 2))
        return torch.stack(
            [
                self._in_context(s, x[s]) if rule else own[s].argmax(1).view(x.shape[1:3])
                for s, rule in enumerate(self.rules)
            ]
        )

    def _network(self, x: Tensor) -> Tensor:
        """p(c | x) by the networks [S, n, C], where one of them answers."""
        if all(self.rules):
            return x.new_zeros(len(x), 0, self.learner.classes)  # nobody asks
        parts = [forward(part, self.learner.theta)[1] for part in x.split(BLOCK, 1)]
        return torch.cat(parts, 1).double().softmax(2)

    def _now(self, s: int, X: Tensor) -> Tensor:
        """log p_now(x, c): [n, C]"""
        rule = self.rules[s]
        assert rule is not None
        return by_class(rule.joint(X.double()), rule.owner, self.learner.classes)

    def _row_by_row(self, s: int, X: Tensor, own: Tensor) -> Tensor:
        if self.rules[s] is None:
            return own[s]
        c, C = self.past.clusters(s), self.learner.classes
        return torch.cat([self._mixed(s, x, c, C) for x in X.split(BLOCK)])

    def _mixed(self, s: int, X: Tensor, c: Clusters, C: int) -> Tensor:
        joint = self._now(s, X)
        if self.present < 1 and len(c):
            past = overall(c, self.whitening[s](X)) + self.whitening[s].log_det
            past = by_class(past, c.owner, C) + math.log(1 - self.present)
            joint = torch.logaddexp(joint + math.log(max(self.present, 1e-300)), past)
        return joint.softmax(1)

    def _in_context(self, s: int, X: Tensor) -> Tensor:
        c, white, labels = self.past.clusters(s), self.whitening[s], []
        remembers = self.present < 1 and len(c) > 0
        grid = Grid.of(c, white.log_det, self.t, self.present) if remembers else None
        for x in X.split(max(1, BLOCK // X.shape[1])):  # [b, q, d]
            joint = self._now(s, x.flatten(0, 1)).view(*x.shape[:2], -1)
            if grid is not None:
                joint = in_context(joint, grid, white(x))
            labels.append(joint.argmax(2))
        return torch.cat(labels)
