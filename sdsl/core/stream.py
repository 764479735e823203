"""The stream: gold set D, segments X_1..X_T with hidden labels, test parts Q_1..Q_T.

Segment 0 gives D; every later segment splits at random into an unlabelled and a test part.
All replicas share one table and hold indices into it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from sdsl.core.fields import choice, number, word
from sdsl.core.ranking import rank_in_class
from sdsl.core.replica import Rows, derive
from sdsl.core.table import Table
from sdsl.errors import UserError


@dataclass
class Cut:
    """How a dataset is cut into segments."""

    segment_size: int = number(low=2)
    test_size: int | None = number(low=1)  # rows of each segment that only test; None: a fifth
    gold_per_class: int | None = number(low=1)  # RECORD's count, for stream.gold=record
    calibrated_segments: int | None = number(low=1)  # T, for stream.prefix=calibrated


@dataclass
class StreamConfig:
    """How a cut table becomes a stream."""

    gold: str | int = word(
        "segment|record|[1-9][0-9]*", "segment, record, or a number of rows per class"
    )  # segment: D has as many rows as an unlabelled part
    scaler: str = choice("frozen", "running", "per_step", "none")  # see core/adaptation.py
    max_segments: int | None = number(low=1)  # shorten the stream to this many after gold
    prefix: str = choice("literal", "calibrated")  # calibrated: the prefix nearest to the paper


class Stream:
    """One table, cut and split for S seeds. Segments count from 1; 0 is the gold segment."""

    def __init__(self, table: Table, cut: Cut, config: StreamConfig, seeds: Sequence[int]):
        self.table, self.seeds, self.config = table, tuple(seeds), config
        size, self.q = cut.segment_size, cut.test_size or max(1, cut.segment_size // 5)
        self.n = size - self.q
        self.C, self.d = len(table.classes), table.X.shape[1]
        self._check(cut)
        self.T = self._length(cut)
        beyond = len(table.y) - size * (self.T + 1)
        self.left_out = beyond if beyond < size else 0  # rows that do not fill a last segment
        rngs = [np.random.default_rng(derive(seed, "split")) for seed in seeds]
        parts = [[rng.permutation(size) for _ in range(self.T + 1)] for rng in rngs]
        starts = size * np.arange(self.T + 1)[None, :, None]
        order = torch.from_numpy(np.array(parts) + starts)  # [S, T + 1, size] row numbers
        self._X, self._y = torch.from_numpy(table.X), torch.from_numpy(table.y)
        self.unlabelled = order[:, 1:, self.q :]  # [S, T, n]
        self.test = order[:, 1:, : self.q]  # [S, T, q]
        self.gold_rows = self._gold(order[:, 0], cut.gold_per_class or 1)

    def _check(self, cut: Cut) -> None:
        """What every method needs: rows on both sides of a segment, two classes, two segments."""
        table, size = self.table, cut.segment_size
        where = f"{table.name} ({table.source})"
        if self.n < 1:
            raise UserError(
                f"{where}: dataset.test_size={self.q} must be below dataset.segment_size={size}."
            )
        if self.C < 2:
            raise UserError(
                f"{where}: one class only ({table.classes[0]!r}); expected at least two. Is "
                "dataset.label the right column?"
            )
        if len(table.y) < 2 * size:
            raise UserError(
                f"{where}: {len(table.y)} rows are fewer than two segments of {size}: one gives "
                "the gold set, the others the stream. Lower dataset.segment_size."
            )

    def _length(self, cut: Cut) -> int:
        T = len(self.table.y) // cut.segment_size - 1
        if self.config.prefix == "calibrated":
            T = min(T, cut.calibrated_segments or T)
        return min(T, self.config.max_segments or T)

    def _gold(self, segment: Tensor, per_class: int) -> Rows:
        """D from segment 0's rows [S, size], in each replica's own random order."""
        gold, y = self.config.gold, self._y[segment]
        rows = Rows.full(self._X[segment], y)
        if gold == "segment":
            keep = torch.arange(segment.shape[1]).expand_as(y) < self.n
        else:
            k = per_class if gold == "record" else int(gold)
            keep = rank_in_class(torch.zeros(y.shape), y, self.C) < k
        rows = rows.where(keep).narrow()  # as many in every replica: all see the same segment 0
        for s, seed in enumerate(self.seeds):
            missing = set(range(self.C)) - set(rows.replica(s)[1].tolist())
            if missing:
                names = ", ".join(self.table.classes[c] for c in sorted(missing)[:10])
                raise UserError(
                    f"{self.table.name} ({self.table.source}), seed {seed}: the gold set "
                    f"({int(rows.count[s])} of the first {segment.shape[1]} rows) has no row of "
                    f"class {names}; a class without a gold label can never be predicted. Raise "
                    "dataset.segment_size, choose another dataset.order, or set stream.gold=N."
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
