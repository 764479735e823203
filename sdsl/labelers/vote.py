"""A vote of classifiers fitted to gold once: p(c | x) = (mean_mv p_m(c | v(x))^(1 / T_m))^(1 / T).

A view v standardises rows by the moments of gold, or by those of the segment, which undoes offsets
and gains that all its rows share. On gold both are the same, so each learner m is fitted once and
asked in every view. T_m minimises the log-loss of gold rows that were left out of its fit; T,
nearly, that of the mean: a mean of calibrated probabilities is less sure than it is right.
"""

import multiprocessing
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple

import numpy as np
import torch
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.model_selection import StratifiedKFold
from threadpoolctl import threadpool_limits
from torch import Tensor

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, settings

Array = np.ndarray
TAIL = 0.01  # share of a feature's values, at either end, that are cut before moments are taken
FAR = 8.0  # deviations at which values are cut
TEMPERATURES = 0.5, 0.7, 1.0, 1.4, 2.0, 3.0, 4.0
# The exponent of T. Rows to come are less like gold than gold's own rows that were left out: on
# dev/table_* the calibration error is .050 with 0 (no T), .021 with 1 and .004 with this.
LATER = 0.75
FOLDS = 5  # of cross-validation; a class with fewer gold rows is in every fit and never scored
BLOCK = 10_000  # rows are classified in blocks of this size


class Moments(NamedTuple):
    """Of rows without their tails: a few wild values must not squeeze all others."""

    mean: Array  # [d]
    deviation: Array  # [d]

    @classmethod
    def of(cls, X: Array) -> "Moments":
        X = np.clip(X, *np.quantile(X, [TAIL, 1 - TAIL], axis=0))
        return cls(X.mean(0), X.std(0) + 1e-9)

    def standardise(self, X: Array) -> Array:
        return np.clip((X - self.mean) / self.deviation, -FAR, FAR)


@dataclass(frozen=True)
class Ballot:
    """Rows [n, d] to labels [n], by fitted learners."""

    views: Sequence[Moments]
    models: Sequence[Any]
    temperatures: Sequence[float]
    sharpness: float  # T, of the mean
    classes: int

    def __call__(self, x: Tensor) -> Tensor:
        return self.probabilities(x).argmax(1)

    def probabilities(self, x: Tensor) -> Tensor:
        """[n, C]"""
        blocks = np.array_split(x.double().numpy(), len(x) // BLOCK + 1)
        return torch.from_numpy(np.concatenate([self._block(X) for X in blocks]))

    @threadpool_limits.wrap(1)  # the same bits whatever the machine
    def _block(self, X: Array) -> Array:
        if not len(X):
            return np.zeros((0, self.classes))
        seen = np.concatenate([view.standardise(X) for view in self.views])  # [v n, d]
        votes = zip(self.models, self.temperatures, strict=True)
        p = np.mean([tempered(ask(m, seen, self.classes), T) for m, T in votes], 0)
        p = p.reshape(len(self.views), len(X), self.classes).mean(0)
        return tempered(p, self.sharpness)


@settings
class Vote(Labeler):
    learners: list[Any]  # scikit-learn classifiers with predict_proba
    views: list[Literal["gold", "segment"]]
    few: Positive  # a segment of fewer rows has no moments of its own: the last ones stay

    own_units = True  # the learners, and the moments of a segment

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        self.seed = int(2**24 * draws.uniform(1))  # of learners and folds
        self.moments, X, y = standardised(gold)  # moments: of the last segment; gold is the first
        self.temperatures, self.accuracy = [1.0] * len(self.learners), float("nan")
        self.sharpness = 1.0
        scored = np.bincount(y)[y] >= FOLDS
        if 2 * scored.sum() > len(y):  # else too few rows of a class to leave any out
            p, y = cross_validated(self.learners, X, y, scored, self.seed), y[scored]
            self.temperatures = [temperature(one, y) for one in p]
            mean = np.mean(list(map(tempered, p, self.temperatures)), 0)
            self.sharpness = temperature(mean, y) ** LATER
            self.accuracy = float((mean.argmax(1) == y).mean())
        self.install(gold, learner)

    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        super().restore(state, gold, learner)
        self.moments = Moments(*self.moments)
        self.install(gold, learner)

    def state(self) -> dict[str, Any]:
        """Without the fitted learners, which are a function of gold and the seed."""
        return {key: value for key, value in super().state().items() if key != "fitted"}

    def install(self, gold: Rows, learner: Learner) -> None:
        """Fit the learners to gold."""
        own, X, y = standardised(gold)
        models = [fit(model, X, y, self.seed) for model in self.learners]
        self.fitted = Ballot([own], models, self.temperatures, self.sharpness, learner.classes)
        learner.rule = self.ballot()

    def ballot(self) -> Ballot:
        """The vote in the views of the last segment."""
        views = {"gold": self.fitted.views[0], "segment": self.moments}
        return replace(self.fitted, views=[views[view] for view in self.views])

    def label(self, step: Step, learner: Learner) -> Pseudo:
        if len(step.X) >= self.few:
            self.moments = Moments.of(step.X.double().numpy())
        learner.rule = self.ballot()
        p = learner.rule.probabilities(step.X)
        y = p.argmax(1)
        log = {"model_numbers": 2.0 * step.X.shape[1]}  # the moments; the rest is gold's
        note = "" if np.isfinite(self.accuracy) else "not calibrated: too few gold rows of a class"
        return Pseudo(y, Rows(step.X, y), log, p, note)


def standardised(gold: Rows) -> tuple[Moments, Array, Array]:
    """(moments of gold, X [g, d] standardised by them, y [g])"""
    X = gold.X.double().numpy()
    own = Moments.of(X)
    return own, own.standardise(X), gold.y.numpy()


def cross_validated(
    learners: Sequence[Any], X: Array, y: Array, scored: Array, seed: int
) -> list[Array]:
    """p [r, C] of each learner for the `scored` rows, by fits that they were left out of."""
    C, rows = y.max() + 1, np.flatnonzero(scored)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    parts = [rows[part] for _, part in folds.split(rows, y[rows])]

    def left_out(model: Any, part: Array) -> Array:
        rest = np.delete(np.arange(len(y)), part)
        return ask(fit(model, X[rest], y[rest], seed), X[part], C)

    order = np.argsort(np.concatenate(parts))
    return [np.concatenate([left_out(model, part) for part in parts])[order] for model in learners]


@threadpool_limits.wrap(1)
def fit(model: Any, X: Array, y: Array, seed: int) -> Any:
    """A fitted copy of the classifier; it is given the seed if it takes one and has none.

    The trees of a forest grow on all cores, unless other processes are at work.
    """
    model, alone = clone(model), multiprocessing.parent_process() is None
    if model.get_params().get("random_state", seed) is None:
        model.set_params(random_state=seed)
    if not isinstance(model, RandomForestClassifier | ExtraTreesClassifier):
        return model.fit(X, y)
    model.set_params(n_jobs=os.cpu_count() if alone else 1).fit(X, y)
    return model.set_params(n_jobs=1)  # a sum over threads depends on their order


@threadpool_limits.wrap(1)
def ask(model: Any, X: Array, classes: int) -> Array:
    """p [n, C]; a class that the model was not shown has 0."""
    p = np.zeros((len(X), classes))
    p[:, model.classes_] = model.predict_proba(X)
    return p


def tempered(p: Array, T: float) -> Array:
    """p^(1 / T), renormalised."""
    q = p ** (1 / T)
    return q / q.sum(1, keepdims=True)


def temperature(p: Array, y: Array) -> float:
    """Of least log-loss."""
    true = np.arange(len(y)), y
    return min(TEMPERATURES, key=lambda T: -np.log(tempered(p, T)[true].clip(1e-6)).mean())
