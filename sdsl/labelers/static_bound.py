"""The bound for Acc_T: the best single classifier of all segments at once, with their true labels.

max over candidates of the accuracy on held-out rows of the unlabelled parts; never on a test part.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from torch import Tensor

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.fields import number
from sdsl.core.learner import Learner
from sdsl.core.replica import Draws, Rows

BOOSTS = 500  # rounds of boosting at most
Cut = tuple[np.ndarray, np.ndarray]  # row numbers (to fit, to choose by)
SMALL = 10_000  # rows up to which a support vector machine is affordable


@dataclass
class StaticBound(Labeler):
    heldout: float = number(low=0.01, high=0.9)  # share of the rows that chooses
    most: int = number(low=1)  # and at most this many of them

    privileged = True

    def own_units(self) -> bool:
        return True  # its models

    def foresee(self, segments: Iterable[tuple[Tensor, Tensor]]) -> None:
        X, y = zip(*segments, strict=True)
        self.X, self.y = torch.cat(X, 1).numpy(), torch.cat(y, 1).numpy()  # [S, T n, d], [S, T n]

    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        with threadpool_limits(1):  # the same bits whatever the machine
            cuts = [self.cut(g) for g in draws.generators]
            chosen = [best(*one) for one in zip(self.X, self.y, cuts, strict=True)]
        models, scores, which = zip(*chosen, strict=True)
        self.log = {"heldout_acc": torch.tensor(scores), "candidate": torch.tensor(which)}
        learner.classifier = Each(models)
        del self.X, self.y

    def cut(self, generator: torch.Generator) -> Cut:
        n = self.y.shape[1]
        order = torch.randperm(n, generator=generator).numpy()
        k = min(int(n * self.heldout) or 1, self.most)
        return order[k:], order[:k]

    def label(self, step: Step, learner: Learner) -> Pseudo:
        return Pseudo(y=None, rows=Rows.unlabelled(step.X), log=self.log)


def candidates(y: np.ndarray) -> list[Any]:
    """Boosted trees, neighbours and, where affordable, support vectors; none of them random."""
    n, members = len(y), np.unique(y, return_counts=True)[1]
    # Early stopping holds out a tenth, every class in it and in the rest.
    stop = bool(members.min() > 1 and n >= 10 * len(members))
    trees = [
        HistGradientBoostingClassifier(
            max_iter=BOOSTS, early_stopping=stop, random_state=0, max_leaf_nodes=leaves
        )
        for leaves in (31, 8)
    ]
    neighbours = [KNeighborsClassifier(k) for k in (5, 25, 101) if k < n]
    vectors = [SVC(C=C, cache_size=500, random_state=0) for C in (1, 10, 100)] if n <= SMALL else []
    return trees + neighbours + vectors


def best(X: np.ndarray, y: np.ndarray, cut: Cut) -> tuple[Any, float, int]:
    """(the best candidate on held-out rows, then fitted to all; its accuracy there; its number)."""
    fit, hold = cut
    models = candidates(y[fit])
    scores = [m.fit(X[fit], y[fit]).score(X[hold], y[hold]) for m in models]
    i = int(np.argmax(scores))
    return models[i].fit(X, y), scores[i], i


class Each:
    """x [S, n, d] to labels [S, n], each replica by a model of its own."""

    def __init__(self, models: Sequence[Any]):
        self.models = models

    def __call__(self, x: Tensor) -> Tensor:
        with threadpool_limits(1):
            labels = [m.predict(x_.numpy()) for m, x_ in zip(self.models, x, strict=True)]
        return torch.from_numpy(np.stack(labels)).long()
