"""Present and past in one rule: p(x, c) = lambda p_now(x, c) + (1 - lambda) mean_s p_s(x, c).

p_now is the tracker's mixture, or one fitted to the newly labelled rows of another labeler. The p_s
are snapshots of it, of every h-th segment from gold on: owners, weights, means, and variances v
along gold's axes, S = L diag(v) L^T with L L^T = the covariance within the classes of gold. h
doubles whenever the snapshots hold more numbers than `rows` rows with labels would.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from sdsl.core.contract import Log, Pseudo, Replay, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Count, Positive, Share, settings
from sdsl.labelers.tracker import Array, Mixture, Rule, Tracked, fit, pairs, posterior


class Snapshot(NamedTuple):
    t: int
    owner: Array  # [K]
    weight: Array  # [K]
    mean: Array  # [K, d]
    var: Array  # [K, d] along gold's axes

    @property
    def numbers(self) -> int:
        return sum(np.size(part) for part in self)


@settings
class MixtureRule(Replay):
    present: Share  # lambda
    rows: Count  # the snapshots hold no more numbers than so many rows with labels
    components: Positive  # per class at most, of a mixture fitted to another labeler's rows

    own_units = True  # means and variances

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.axes = self.axes_of(gold, learner.classes)
        self.stride, self.past = 1, list[Snapshot]()
        self.now = self.fitted(gold, learner.classes).rule
        self.remember(0)
        self.install(learner)

    def axes_of(self, gold: Rows, classes: int) -> Array:
        """L [d, d], or [d] where covariances are diagonal."""
        pooled, d = self.fitted(gold, classes, 1).pooled, gold.X.shape[1]
        if len(pooled) == d:
            return np.sqrt(pooled)
        return np.linalg.cholesky(full(pooled[None], d)[0])

    def fitted(self, rows: Rows, classes: int, components: int | None = None) -> Mixture:
        X, y = rows.X.double().numpy(), rows.y.numpy()
        return fit(X, y, components or self.components, classes)

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        super().restore(state, gold, learner)
        self.now, self.past = Rule(*self.now), [Snapshot(*one) for one in self.past]
        self.install(learner)

    def replay(self, step: Step, pseudo: Pseudo, learner: Learner) -> Log:
        if isinstance(pseudo, Tracked) and pseudo.mixture:
            self.now = pseudo.mixture.rule
        elif len(pseudo.rows):
            self.now = self.fitted(pseudo.rows, learner.classes).rule
        self.remember(step.t)
        self.install(learner)
        memory = sum(one.numbers for one in self.past)
        return {"memory_numbers": float(memory), "model_numbers": float(self.now.numbers)}

    def remember(self, t: int) -> None:
        """Add the present to the past if it is its turn; thin the past out to its budget."""
        mix, (K, d) = self.now, self.now.mean.shape
        room = self.rows * (d + 1)
        if t % self.stride == 0:
            if len(self.axes.shape) == 1:
                var = mix.cov / self.axes**2
            else:  # the diagonal of L^-1 S L^-T
                inverse = np.linalg.inv(self.axes)
                var = np.einsum("ij,kjl,il->ki", inverse, full(mix.cov, d), inverse)
            var = np.broadcast_to(var, (K, d)).copy()
            self.past.append(Snapshot(t, mix.owner, mix.weight, mix.mean, var))
        while sum(one.numbers for one in self.past) > room:
            self.stride *= 2
            kept = [one for one in self.past if one.t % self.stride == 0]
            self.past = kept if len(kept) < len(self.past) else []  # gold alone is too large

    def install(self, learner: Learner) -> None:
        mix, (K, d), p = self.now, self.now.mean.shape, self.now.cov.shape[1]
        share = self.present if self.past else 1.0
        cov, weight = np.broadcast_to(mix.cov, (K, p)), share * mix.weight
        parts = [Rule(mix.owner, mix.mean, cov, weight)]
        i, j, _ = pairs(d, p)
        L = self.axes
        for one in self.past:
            cov = one.var * L**2 if L.ndim == 1 else ((L * one.var[:, None]) @ L.T)[:, i, j]
            weight = (1 - share) / len(self.past) * one.weight
            parts.append(Rule(one.owner, one.mean, cov, weight))
        owner, mean, cov, weight = (np.concatenate(part) for part in zip(*parts, strict=True))
        used = weight > 0  # all but those of lambda = 0 or 1
        whole = Rule(owner[used], mean[used], cov[used], weight[used])

        def classify(x: Tensor) -> Tensor:
            p = posterior(whole, x.double().numpy(), learner.classes)
            return torch.from_numpy(p.argmax(1))

        learner.classifier = classify


def full(cov: Array, d: int) -> Array:
    """[K, p] entries i <= j to [K, d, d]."""
    i, j, _ = pairs(d, cov.shape[1])
    S = np.zeros((len(cov), d, d))
    S[:, i, j] = S[:, j, i] = cov
    return S
