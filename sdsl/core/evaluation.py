"""Filling R: R[t, j] = accuracy of the model after step t on the test part Q_j.

R has every row predicted by itself. Where a classifier can also predict a batch in context, and
eval.context asks for it, R_context has each Q_j predicted as one batch.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import torch
from torch import Tensor

from sdsl.core.confusion import counted
from sdsl.core.fields import number, setting
from sdsl.core.learner import Learner
from sdsl.core.network import Theta
from sdsl.core.scaler import Scaler
from sdsl.core.stream import Stream

CHUNK = (
    512  # test rows in a forward pass: activations stay in cache. Fixed: bits must not hang on S
)


HELD = ("R", "R_context", "counts", "diagonal", "last")  # of a Tester, in a checkpoint


@dataclass
class EvalConfig:
    """Which cells of R to fill; the diagonal and R[t, t+1] always are."""

    every: int = number(low=1)  # a full row of R at every k-th step (and the last)
    columns: int | None = number(low=1)  # at most this many columns in it, evenly spread
    context: bool = setting()  # R_context too, where the classifier offers it


@runtime_checkable
class InContext(Protocol):
    """A classifier that may also see the batch that a row comes in, without labels."""

    def context(self, x: Tensor) -> Tensor:
        """Scaled batches x [S, B, q, d], each predicted for itself: labels [S, B, q]."""
        ...


@dataclass(frozen=True)
class Evaluated:
    """The model that a full row of R was last computed for."""

    theta: Theta
    classifier: Callable[[Tensor], Tensor] | None
    scaler: Scaler
    t: int
    counts: Tensor  # of that row, see Tester.counts

    def same(self, learner: Learner, scaler: Scaler) -> bool:
        if self.scaler is not scaler or self.classifier is not learner.classifier:
            return False
        return all(torch.equal(a, b) for a, b in zip(learner.theta, self.theta, strict=True))


class Tester:
    """Fills R row by row, one batched forward pass over all test parts per row."""

    def __init__(self, stream: Stream, config: EvalConfig):
        self.X, self.y = stream.tests()  # [S, T, q, d], [S, T, q]
        self.config, self.T = config, stream.T
        self.R = np.full((len(self.X), stream.T + 1, stream.T), np.nan)
        self.R_context: np.ndarray | None = None
        # Confusion counts of the newest row of R [S, T, C, C]; 0 where a cell was left out.
        self.counts = torch.zeros(*self.y.shape[:2], stream.C, stream.C, dtype=torch.int64)
        self.diagonal = torch.zeros_like(self.counts)  # those on Q_t after step t, at t - 1
        wide = np.linspace(0, self.T - 1, min(config.columns or self.T, self.T)).round().astype(int)
        self.columns = np.unique(wide)
        self.last: Evaluated | None = None

    def held(self) -> dict[str, Any]:
        """What passes from step to step."""
        return {name: getattr(self, name) for name in HELD}

    def resume(self, held: dict[str, Any]) -> None:
        """Go on with what `held` gave."""
        vars(self).update({name: held[name] for name in HELD})

    def fill(self, t: int, learner: Learner, scaler: Scaler) -> None:
        full = t % self.config.every == 0 or t == self.T
        near = [j for j in (t - 1, t) if 0 <= j < self.T]  # R[t, t] and R[t, t+1]
        columns = np.union1d(self.columns, near).astype(int) if full else np.array(near, int)
        self.counts = torch.zeros_like(self.counts)
        if self.last and self.last.same(learner, scaler):  # a model that did not move keeps its row
            self.counts = self.last.counts.clone()
            known = self.R[:, self.last.t]
            columns = columns[np.isnan(known[0, columns])]
            self.R[:, t] = known
            if self.R_context is not None:
                self.R_context[:, t] = self.R_context[:, self.last.t]
        if len(columns):
            index = torch.as_tensor(columns)
            self.counts[:, index] = self.confusion(index, learner, scaler)
            right = self.counts[:, index].diagonal(dim1=2, dim2=3).sum(2)  # exact
            self.R[:, t, columns] = right.double().div(self.y.shape[2]).numpy()
            if self.config.context and isinstance(learner.classifier, InContext):
                if self.R_context is None:
                    self.R_context = np.full_like(self.R, np.nan)
                in_context = self.accuracy_in_context(columns, learner.classifier, scaler)
                self.R_context[:, t, columns] = in_context
        if t:
            self.diagonal[:, t - 1] = self.counts[:, t - 1]
        if full:
            self.last = Evaluated(learner.copy(), learner.classifier, scaler, t, self.counts)

    def confusion(self, columns: Tensor, learner: Learner, scaler: Scaler) -> Tensor:
        """[S, len(columns), C, C]"""
        whole = len(columns) == self.T
        X = (self.X if whole else self.X[:, columns]).flatten(1, 2)
        y = self.y if whole else self.y[:, columns]
        said = torch.cat([learner.predict(scaler(x)) for x in X.split(CHUNK, 1)], 1)
        return counted(said.view_as(y), y, self.counts.shape[2])

    def accuracy_in_context(
        self, columns: np.ndarray, classifier: InContext, scaler: Scaler
    ) -> np.ndarray:
        """The same with each test part as one batch: [S, len(columns)]"""
        index = torch.as_tensor(columns)
        X, y = self.X[:, index], self.y[:, index]
        said = classifier.context(scaler(X.flatten(1, 2)).view_as(X))
        return (said == y).sum(2).double().div(y.shape[2]).numpy()

    def online(self, t: int) -> float:
        """Acc_t so far, mean over the replicas."""
        return float(np.mean([np.diagonal(r[1:])[:t].mean() for r in self.R]))
