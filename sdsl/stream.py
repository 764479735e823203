"""The stream: gold set D, segments X_1..X_T with hidden labels, test parts Q_1..Q_T, scaling.

Segment 0 gives D; every later segment splits at random into an unlabelled and a test part.
All replicas share one table and hold indices into it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.component import choice, number
from sdsl.errors import UserError
from sdsl.replica import Rows, derive
from sdsl.table import Table


@dataclass
class StreamConfig:
    """How a table becomes a stream (PROTOCOL section 6)."""

    gold: str = (
        "segment"  # 'segment': as many rows as an unlabelled part; 'record'; or a count a class
    )
    scaler: str = choice("frozen", "per_step", "none")
    max_segments: int | None = number(None, low=1)  # shorten the stream to this many after gold
    prefix: str = choice("literal", "calibrated")  # 'calibrated': PROTOCOL's prefix, if it has one


@dataclass(frozen=True)
class Scaler:
    """Per-replica standardisation (x - mean) / scale; a constant feature keeps scale 1."""

    mean: Tensor  # [S, 1, d]
    scale: Tensor  # [S, 1, d]

    @classmethod
    def fit(cls, *parts: Sequence[Tensor]) -> "Scaler":
        """From row sets, each [n, d] a replica."""
        # One replica at a time: how a reduction over rows is split must not depend on S.
        fitted = [torch.cat([p[s] for p in parts]).double() for s in range(len(parts[0]))]
        mean = torch.stack([x.mean(0, keepdim=True) for x in fitted])
        scale = torch.stack([x.std(0, correction=0, keepdim=True) for x in fitted])
        # A feature that is constant up to rounding carries no scale of its own.
        flat = scale <= 1e-7 * mean.abs().clamp(min=1e-12)
        return cls(mean.float(), torch.where(flat, 1.0, scale).float())

    @classmethod
    def identity(cls, X: Tensor) -> "Scaler":
        shape = (len(X), 1, X.shape[2])
        return cls(torch.zeros(shape), torch.ones(shape))

    def __call__(self, X: Tensor) -> Tensor:
        return (X - self.mean) / self.scale

    def undo(self, X: Tensor) -> Tensor:
        return X * self.scale + self.mean


class Stream:
    """One table, cut and split for S seeds. Segments count from 1; 0 is the gold segment."""

    def __init__(self, table: Table, dataset: Mapping, config: StreamConfig, seeds: Sequence[int]):
        size, test = int(dataset["segment_size"]), int(dataset["test_size"])
        self.table, self.seeds, self.config = table, tuple(seeds), config
        self.T = self._length(len(table.y), size, dataset)
        self.C, self.d = len(table.classes), table.X.shape[1]
        self.n, self.q = size - test, test
        if not 0 < test < size:
            raise UserError(
                f"dataset.test_size={test} must leave rows on both sides of a segment of {size}."
            )
        rngs = [np.random.default_rng(derive(seed, "split")) for seed in seeds]
        parts = [[rng.permutation(size) for _ in range(self.T + 1)] for rng in rngs]
        starts = size * np.arange(self.T + 1)[None, :, None]
        order = torch.from_numpy(np.array(parts) + starts)  # [S, T + 1, size] row numbers
        self._X, self._y = torch.from_numpy(table.X), torch.from_numpy(table.y)
        self.unlabelled = order[:, 1:, test:]  # [S, T, n]
        self.test = order[:, 1:, :test]  # [S, T, q]
        self.gold_rows = self._gold(order[:, 0], int(dataset.get("gold_per_class") or 1))

    def _length(self, rows: int, size: int, dataset: Mapping) -> int:
        if size < 2 or rows < 2 * size:
            raise UserError(
                f"dataset {self.table.name} has {rows} rows: too few for two segments of {size} "
                "(one for the gold labels, one to learn from). Lower dataset.segment_size."
            )
        T = rows // size - 1
        if self.config.prefix == "calibrated" and dataset.get("calibrated_segments"):
            T = min(T, int(dataset["calibrated_segments"]))
        return min(T, self.config.max_segments or T)

    def _gold(self, segment: Tensor, per_class: int) -> Rows:
        """D from segment 0's rows [S, size], in each replica's own random order."""
        gold = str(self.config.gold)
        if gold != "segment" and gold != "record" and not (gold.isdigit() and int(gold) > 0):
            raise UserError(
                f"stream.gold={gold} is not a choice. Choices: segment, record, or rows a class."
            )
        y = self._y[segment]
        rows = Rows.full(self._X[segment], y)
        if gold == "segment":
            keep = torch.arange(segment.shape[1]).expand_as(y) < self.n
        else:
            k = per_class if gold == "record" else int(gold)
            rank = torch.nn.functional.one_hot(y, self.C).cumsum(1).gather(2, y[:, :, None])
            keep = rank.squeeze(2) <= k
        rows = rows.where(keep).narrow()  # as many in every replica: all see the same segment 0
        for s, seed in enumerate(self.seeds):
            missing = set(range(self.C)) - set(rows.replica(s)[1].tolist())
            if missing:
                names = ", ".join(self.table.classes[c] for c in sorted(missing))
                raise UserError(
                    f"dataset {self.table.name}, seed {seed}: the gold set ({int(rows.count[s])} "
                    f"rows of segment 0) has no row of class {names}. Every class needs a gold "
                    "label: use larger segments, another dataset.order, or stream.gold=N."
                )
        return rows

    def gold(self) -> Rows:
        """D, raw."""
        return self.gold_rows

    def segment(self, t: int) -> Tensor:
        """X_t, raw [S, n, d]: the only thing about segment t that a method may see."""
        return self._X[self.unlabelled[:, t - 1]]

    def truth(self, t: int) -> Tensor:
        """The hidden labels of X_t [S, n]: for scoring, and for components declared privileged."""
        return self._y[self.unlabelled[:, t - 1]]

    def tests(self) -> tuple[Tensor, Tensor]:
        """All test parts, raw: X [S, T, q, d], y [S, T, q]."""
        return self._X[self.test], self._y[self.test]
