"""The bound for Acc_T: the best single classifier of all segments at once, with their true labels.

max over candidates of the accuracy on held-out rows of the unlabelled parts; never on a test part.
"""

from collections.abc import Iterable, Mapping
from typing import Annotated, Any

import numpy as np
import torch
from pydantic import Field
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits
from torch import Tensor

from sdsl.core.contract import Labeler, Pseudo, Step
from sdsl.core.draws import Draws
from sdsl.core.learner import Learner
from sdsl.core.rows import Rows
from sdsl.core.settings import Positive, settings

BOOSTS = 500  # rounds of boosting at most
SMALL = 10_000  # rows up to which a support vector machine is affordable


@settings
class StaticBound(Labeler):
    heldout: Annotated[float, Field(ge=0.01, le=0.9)]  # share of the rows that chooses
    most: Positive  # and at most this many of them

    privileged = True
    own_units = True  # its model

    def foresee(self, segments: Iterable[tuple[Tensor, Tensor]]) -> None:
        X, y = zip(*segments, strict=True)
        self.X, self.y = torch.cat(X), torch.cat(y)  # [T n, d], [T n]

    @threadpool_limits.wrap(1)  # the same bits whatever the machine
    def start(self, gold: Rows, learner: Learner, draws: Draws) -> None:
        X, y, n = self.X.numpy(), self.y.numpy(), len(self.y)
        k = min(int(n * self.heldout) or 1, self.most)
        hold, self.rest = draws.permutation(n).split([k, n - k])
        models = candidates(y[self.rest])
        scores = [m.fit(X[self.rest], y[self.rest]).score(X[hold], y[hold]) for m in models]
        best = int(np.argmax(scores))
        self.log = {"heldout_acc": float(scores[best]), "candidate": float(best)}
        self.restore({}, gold, learner)

    @threadpool_limits.wrap(1)
    def restore(self, state: Mapping[str, Any], gold: Rows, learner: Learner) -> None:
        """Fits the chosen candidate to all rows: a fitted model is no plain data."""
        super().restore(state, gold, learner)
        X, y = self.X.numpy(), self.y.numpy()
        model = candidates(y[self.rest])[int(self.log["candidate"])].fit(X, y)
        classify = threadpool_limits.wrap(1)(model.predict)
        learner.classifier = lambda x: torch.from_numpy(classify(x.numpy())).long()

    def label(self, step: Step, learner: Learner) -> Pseudo:
        return Pseudo(y=None, rows=Rows.unlabelled(step.X), log=self.log)


def candidates(y: np.ndarray) -> list[Any]:
    """Boosted trees, neighbours and, where affordable, support vectors; none of them random."""
    n, members = len(y), np.unique(y, return_counts=True)[1]
    # Early stopping holds out a tenth, every class in it and in the rest.
    stop = bool(members.min() > 1 and n >= 10 * len(members))
    boost = {"max_iter": BOOSTS, "early_stopping": stop, "random_state": 0}
    trees = [HistGradientBoostingClassifier(max_leaf_nodes=leaves, **boost) for leaves in (31, 8)]
    neighbours = [KNeighborsClassifier(k) for k in (5, 25, 101) if k < n]
    vectors = [SVC(C=C, cache_size=500, random_state=0) for C in (1, 10, 100)] if n <= SMALL else []
    return trees + neighbours + vectors
