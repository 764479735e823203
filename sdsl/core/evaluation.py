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
from sdsl.core.fields import setting, word
from sdsl.core.learner import Learner
from sdsl.core.network import Theta
from sdsl.core.scaler import Scaler
from sdsl.core.stream import Stream
from sdsl.core.thin import Thin

CHUNK = 8192  # test rows at a time, so that few are held in two forms


LONG = 1_000  # segments up to which all cells of R are filled, unless told otherwise
MOST = 100  # full rows of a longer stream, and columns in each
HELD = ("R", "R_context", "counts", "diagonal", "last")  # of a Tester, in a checkpoint


@dataclass
class EvalConfig:
    """Which cells of R to fill; the diagonal and R[t, t+1] always are.

    auto: all cells up to LONG segments; beyond, about MOST full rows of MOST columns, besides the
    first and the last row, which stay complete: Acc_t, Acc_T and forgetting miss nothing.
    """

    every: int | str = word(
        "auto|[1-9][0-9]*", "auto, or a number of steps"
    )  # a full row of R at every k-th step (and the last)
    columns: int | str | None = word(
        "auto|None|[1-9][0-9]*", "auto, null or a number of columns"
    )  # at most this many columns in it, evenly spread
    context: bool = setting()  # R_context too, where the classifier offers it

    def step(self, T: int) -> int:
        """A full row at every so many steps."""
        if self.every == "auto":
            return 1 if T <= LONG else -(-T // MOST)
        return int(self.every)

    def wide(self, T: int) -> int:
        """Columns in such a row."""
        if self.columns == "auto":
            return T if T <= LONG else MOST
        return min(int(self.columns or T), T)

    def thinned(self, T: int) -> str:
        """What is left out, in words; '' if nothing is."""
        step, wide = self.step(T), self.wide(T)
        if step == 1 and wide == T:
            return ""
        ends = ", the first and the last row whole" if self.columns == "auto" else ""
        return f"every {step} steps a row of {wide} of {T} columns{ends}, and the diagonal"


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
        # Confusion counts of the newest row of R [S, T, C, C]; 0 where a cell was left out.
        self.counts = torch.zeros(*self.y.shape[:2], stream.C, stream.C, dtype=torch.int64)
        self.diagonal = torch.zeros_like(self.counts)  # those on Q_t after step t, at t - 1
        self.every = config.step(self.T)
        wide = np.linspace(0, self.T - 1, config.wide(self.T)).round().astype(int)
        self.columns = np.unique(wide)
        self.R = self._empty()
        self.R_context: np.ndarray | Thin | None = None
        self.last: Evaluated | None = None

    def _empty(self) -> np.ndarray | Thin:
        """Dense up to LONG segments, or where all is filled."""
        S, T = len(self.X), self.T
        if T <= LONG or (self.every == 1 and len(self.columns) == T):
            return np.full((S, T + 1, T), np.nan)
        return Thin(S, T, np.unique([*range(0, T + 1, self.every), T]), self.columns)

    def held(self) -> dict[str, Any]:
        """What passes from step to step."""
        return {name: getattr(self, name) for name in HELD}

    def resume(self, held: dict[str, Any]) -> None:
        """Go on with what `held` gave."""
        vars(self).update({name: held[name] for name in HELD})

    def fill(self, t: int, learner: Learner, scaler: Scaler) -> None:
        full = t % self.every == 0 or t == self.T
        near = [j for j in (t - 1, t) if 0 <= j < self.T]  # R[t, t] and R[t, t+1]
        columns = np.union1d(self.columns, near).astype(int) if full else np.array(near, int)
        if self.config.columns == "auto" and t in (0, self.T):
            columns = np.arange(self.T)
        last = self.last if self.last and self.last.same(learner, scaler) else None
        self.counts = last.counts.clone() if last else torch.zeros_like(self.counts)
        self._fill_in(t, columns, learner, scaler, last.t if last else None)
        if t:
            self.diagonal[:, t - 1] = self.counts[:, t - 1]
        if full:
            self.last = Evaluated(learner.copy(), learner.classifier, scaler, t, self.counts)

    def _fill_in(
        self, t: int, columns: np.ndarray, learner: Learner, scaler: Scaler, same: int | None
    ) -> None:
        """Row t; `same`: a row whose model is the same, which keeps what is known of it."""
        offered = self.config.context and isinstance(learner.classifier, InContext)
        if offered and self.R_context is None:
            self.R_context = self._empty()
        for R in (self.R, self.R_context):
            if R is None:
                continue
            known = None if same is None else _row(R, same)  # [S, T]
            left = columns if known is None else columns[np.isnan(known[0, columns])]
            row = np.full((len(self.X), self.T), np.nan) if known is None else known
            if len(left) and R is self.R:
                row[:, left] = self.accuracy(left, learner, scaler)
            elif len(left) and offered:
                assert isinstance(learner.classifier, InContext)
                row[:, left] = self.accuracy_in_context(left, learner.classifier, scaler)
            if isinstance(R, Thin):
                R.put(t, columns, row[:, columns])
            else:
                R[:, t] = row

    def accuracy(self, columns: np.ndarray, learner: Learner, scaler: Scaler) -> np.ndarray:
        """[S, len(columns)]; the counts behind them are noted."""
        index = torch.as_tensor(columns)
        self.counts[:, index] = self.confusion(index, learner, scaler)
        right = self.counts[:, index].diagonal(dim1=2, dim2=3).sum(2)  # exact
        return right.double().div(self.y.shape[2]).numpy()

    def confusion(self, columns: Tensor, learner: Learner, scaler: Scaler) -> Tensor:
        """[S, len(columns), C, C]"""
        whole = len(columns) == self.T
        X = (self.X if whole else self.X[:, columns]).flatten(1, 2)
        y = self.y if whole else self.y[:, columns]
        # A classifier that knows batches has chunks of its own.
        chunk = X.shape[1] if isinstance(learner.classifier, InContext) else CHUNK
        said = torch.cat([learner.predict(scaler(x)) for x in X.split(chunk, 1)], 1)
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
        R = self.R
        known = R.diagonal if isinstance(R, Thin) else np.stack([np.diagonal(r[1:]) for r in R])
        return float(np.mean([row[:t].mean() for row in known]))


def _row(R: np.ndarray | Thin, t: int) -> np.ndarray:
    """A copy of row t: [S, T]."""
    return R.known(t) if isinstance(R, Thin) else R[:, t].copy()
