"""Filling R: R[t, j] = accuracy of the model after step t on the test part Q_j."""

from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor

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
        # Confusion counts [T, C, C]: of the newest row of R, 0 where a cell was left out.
        self.counts = np.zeros((self.T, stream.C, stream.C), dtype=np.int64)
        self.diagonal = np.zeros_like(self.counts)  # those on Q_t after step t, at t - 1
        self.last: tuple[int, Theta, Any, Scaler] | None = None  # the model of the last full row

    def state(self) -> dict[str, np.ndarray]:
        return {"R": self.R, "counts": self.counts, "diagonal": self.diagonal}

    def restore(self, state: dict[str, np.ndarray]) -> None:
        self.R, self.counts, self.diagonal = (state[k] for k in ("R", "counts", "diagonal"))

    def fill(self, t: int, learner: Learner, scaler: Scaler) -> None:
        """Row t of R."""
        full = t % self.every == 0 or t == self.T
        if self.last is not None and self._unchanged(learner, scaler):
            self.R[t] = self.R[self.last[0]]  # ST: one forward pass serves every row
        else:
            near = [j for j in (t - 1, t) if 0 <= j < self.T]  # R[t, t] and R[t, t + 1]
            columns = np.arange(self.T) if full else np.array(near)
            self.counts = np.zeros_like(self.counts)
            self.counts[columns] = self._confusion(columns, learner, scaler)
            right = self.counts[columns].diagonal(axis1=1, axis2=2).sum(1)  # exact
            self.R[t, columns] = right / self.y.shape[1]
            if full:
                self.last = t, learner.copy(), learner.classifier, scaler
        if t:
            self.diagonal[t - 1] = self.counts[t - 1]

    def _unchanged(self, learner: Learner, scaler: Scaler) -> bool:
        assert self.last is not None
        _, theta, classifier, before = self.last
        if before is not scaler or classifier is not learner.classifier:
            return False
        return all(torch.equal(a, b) for a, b in zip(learner.theta, theta, strict=True))

    def _confusion(self, columns: np.ndarray, learner: Learner, scaler: Scaler) -> np.ndarray:
        """[len(columns), C, C]"""
        whole = len(columns) == self.T
        X = (self.X if whole else self.X[columns]).flatten(0, 1)
        y = self.y if whole else self.y[columns]
        said: Tensor = torch.cat([learner.predict(scaler(x)) for x in X.split(CHUNK)])
        return confusion(said.view_as(y).numpy(), y.numpy(), self.counts.shape[1])

    def online(self, t: int) -> float:
        """Acc_t so far."""
        return float(np.diagonal(self.R[1:])[:t].mean())
