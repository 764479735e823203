"""Present and past in one rule: p(x, c) = lambda p_now(x, c) + (1 - lambda) mean_s p_s(x, c).

p_now is the tracker's mixture, or one fitted to the newly labelled rows of another labeler. The p_s
are snapshots of it, of every h-th segment from gold on: owners, weights, means, and variances v
along gold's axes, S = L diag(v) L^T with L L^T = the covariance within the classes of gold. h
doubles whenever the snapshots hold more numbers than `rows` rows with labels would.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Count, Positive, Share, settings
from sdsl.labelers.tracker import (
    Array,
    Mixture,
    Tracked,
    fit,
    network_numbers,
    pairs,
    posterior,
    whole,
)


class Snapshot(NamedTuple):
    t: int
    owner: Array  # [K]
    weight: Array  # [K]
    mean: Array  # [K, d]
    var: Array  # [K, d] along gold's axes


@settings
class MixtureRule(Replay):
    present: Share  # lambda
    rows: Count  # the snapshots hold no more numbers than so many rows with labels
    components: Positive  # per class at most, of a mixture fitted to another labeler's rows

    own_units = True  # means and variances

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        d = gold.X.shape[1]
        self.room = network_numbers(d, learner.classes)
        P = fit(gold, 1, self.room).pooled
        self.axes = np.sqrt(P) if len(P) == d else np.linalg.cholesky(whole(P[None], d)[0])  # L
        self.now = fit(gold, self.components, self.room).rule
        self.stride, self.past = 1, list[Snapshot]()
        self.remember(0, learner)

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        super().restore(state, gold, learner)
        d, C = gold.X.shape[1], learner.classes
        self.now = Mixture.restored(self.now, d, C)
        self.past = [Snapshot(*one) for one in self.past]
        for one in self.past:
            Mixture.restored((one.owner, one.mean, one.var, one.weight), d, C)
        self.install(learner)

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        if isinstance(pseudo, Tracked) and pseudo.mixture:
            self.now = pseudo.mixture.rule
        elif learner.rule:  # no mixture to remember
            self.install(learner)
            return {"memory_numbers": self.memory()}
        elif len(pseudo.rows):
            self.now = fit(pseudo.rows, self.components, self.room).rule
        self.remember(step.t, learner)
        return {"memory_numbers": self.memory(), "model_numbers": float(self.now.numbers)}

    def memory(self) -> float:
        """Numbers that the snapshots hold."""
        return float(sum(np.size(part) for one in self.past for part in one))

    def remember(self, t: int, learner: Learner) -> None:
        """Add the present to the past if it is its turn, keep to the budget, install the rule."""
        mix, (K, d), L = self.now, self.now.mean.shape, self.axes
        if t % self.stride == 0:
            if L.ndim == 1:
                var = mix.cov / L**2
            else:  # the diagonal of L^-1 S L^-T
                inverse = np.linalg.inv(L)
                var = np.einsum("ij,kjl,il->ki", inverse, whole(mix.cov, d), inverse)
            var = np.broadcast_to(var, (K, d)).copy()
            self.past.append(Snapshot(t, mix.owner, mix.weight, mix.mean, var))
        while self.memory() > self.rows * (d + 1):
            self.stride *= 2
            kept = [one for one in self.past if one.t % self.stride == 0]
            self.past = kept if len(kept) < len(self.past) else []  # gold alone is too large
        self.install(learner)

    def install(self, learner: Learner) -> None:
        """The labeler's own classifier, or the rule of present and past, becomes the learner's."""
        if learner.rule:
            learner.classifier = learner.rule
            return
        now, (K, d), p, L = self.now, self.now.mean.shape, self.now.cov.shape[1], self.axes
        share, (i, j, _) = self.present if self.past else 1.0, pairs(d, p)
        parts = [(now.owner, now.mean, np.broadcast_to(now.cov, (K, p)), share * now.weight)]
        for one in self.past:
            cov = one.var * L**2 if L.ndim == 1 else ((L * one.var[:, None]) @ L.T)[:, i, j]
            parts.append((one.owner, one.mean, cov, (1 - share) / len(self.past) * one.weight))
        owner, mean, cov, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        used = weight > 0  # all but those of lambda = 0 or 1
        both = Mixture(owner[used], mean[used], cov[used], weight[used])
        learner.classifier = BayesRule(both, learner.classes)


@dataclass(frozen=True)
class BayesRule:
    """Rows [n, d] to labels [n]."""

    mixture: Mixture
    classes: int

    def __call__(self, x: Tensor) -> Tensor:
        return self.probabilities(x).argmax(1)

    def probabilities(self, x: Tensor) -> Tensor:
        """[n, C]"""
        return torch.from_numpy(posterior(self.mixture, x.double().numpy(), self.classes))
