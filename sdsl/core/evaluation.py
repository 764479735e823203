"""Filling R: R[t, j] = accuracy of the model after step t on the test part Q_j."""

from typing import Any, Literal

import numpy as np
import torch

from sdsl.core.learner import Learner
from sdsl.core.metrics import confusion
from sdsl.core.network import Theta
from sdsl.core.scaler import Scaler
from sdsl.core.settings import Positive, settings
from sdsl.core.stream import Stream

CHUNK = 8192  # test rows at a time, so that few are held in two forms
LONG = 1_000  # segments up to which every row of R is filled under `auto`
FULL_ROWS = 100  # about so many of a longer stream


@settings
class EvalConfig:
    """Which rows of R to fill; the diagonal, R[t, t+1], the first and the last row always are."""

    every: Positive | Literal["auto"]  # a full row at every k-th step

    def step(self, T: int) -> int:
        """A full row at every so many steps."""
        if self.every == "auto":
            return 1 if T <= LONG else -(-T // FULL_ROWS)
        return self.every


class Tester:
    """Fills R row by row, one batched forward pass over all test parts per row."""

    def __init__(self, stream: Stream, config: EvalConfig):
        self.X, self.y = stream.tests()  # [T, q, d], [T, q]
        self.T, self.every = stream.T, config.step(stream.T)
        self.R = np.full((self.T + 1, self.T), np.nan)
        # Confusion counts [T, C, C] of the newest row of R, 0 where a cell was left out.
        self.counts = np.zeros((self.T, stream.C, stream.C), dtype=np.int64)
        self.diagonal = np.zeros_like(self.counts)  # those on Q_t after step t, at t - 1
        self.last: tuple[Theta, Any, Scaler] | None = None  # the model that `counts` belong to

    def state(self) -> dict[str, np.ndarray]:
        return {"R": self.R, "counts": self.counts, "diagonal": self.diagonal}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.R, self.counts, self.diagonal = (state[k] for k in ("R", "counts", "diagonal"))

    def fill(self, t: int, learner: Learner, scaler: Scaler) -> None:
        """Row t of R."""
        full = t % self.every == 0 or t == self.T
        near = [j for j in (t - 1, t) if 0 <= j < self.T]  # R[t, t] and R[t, t + 1]
        columns = np.arange(self.T) if full else np.array(near)
        if not self._unchanged(learner, scaler):
            self.counts = np.zeros_like(self.counts)
            self.last = learner.copy(), learner.classifier, scaler
        new = columns[~self.counts[columns].any((1, 2))]  # ST: one forward pass serves every row
        if len(new):
            X, y = self.X[new].flatten(0, 1), self.y[new]
            predicted = torch.cat([learner.predict(scaler(x)) for x in X.split(CHUNK)]).view_as(y)
            self.counts[new] = confusion(predicted.numpy(), y.numpy(), self.counts.shape[1])
        right = self.counts[columns].diagonal(axis1=1, axis2=2).sum(1)
        self.R[t, columns] = right / self.y.shape[1]
        if t:
            self.diagonal[t - 1] = self.counts[t - 1]

    def _unchanged(self, learner: Learner, scaler: Scaler) -> bool:
        if self.last is None:
            return False
        theta, classifier, before = self.last
        if classifier is not learner.classifier or before is not scaler:
            return False
        return all(torch.equal(a, b) for a, b in zip(learner.theta, theta, strict=True))

    def online(self, t: int) -> float:
        """Acc_t so far."""
        return float(np.diagonal(self.R[1:])[:t].mean())
