"""The stream: gold set D, segments X_1..X_T with hidden labels, test parts Q_1..Q_T.

Segment 0 gives D; every later segment splits at random into an unlabelled and a test part.
"""

from typing import Annotated, Literal

import numpy as np
import torch
from pydantic import Field
from torch import Tensor

from sdsl.core.draws import Draws, derive
from sdsl.core.rows import Rows, Table, rank_in_class
from sdsl.core.settings import Positive, Weight, settings
from sdsl.errors import UserError


@settings
class Cut:
    """How a dataset is cut into segments."""

    segment_size: Annotated[int, Field(ge=2)]
    test_size: Positive | None  # rows of each segment that only test; None: a fifth
    gold_per_class: Positive | None  # for stream.gold=record; None: as stream.gold=segment
    calibrated_segments: Positive | None  # T, for stream.prefix=calibrated


@settings
class StreamConfig:
    """How a cut table becomes a stream."""

    # RECORD's counts per class; as many rows as an unlabelled part; so many per class
    gold: Literal["record", "segment"] | Positive
    scaler: Literal["frozen", "per_step", "none"]  # see core/adaptation.py
    max_segments: Positive | None  # shorten the stream to this many after gold
    jitter: Weight  # rows are multiplied by 1 + so much noise: shows which results rounding decides
    prefix: Literal["literal", "calibrated"]  # calibrated: the prefix nearest to the paper


class Stream:
    """One table, cut and split for one seed. Segments count from 1; 0 is the gold segment."""

    def __init__(self, table: Table, cut: Cut, config: StreamConfig, seed: int):
        self.table, self.seed, self.config = table, seed, config
        size, self.q = cut.segment_size, cut.test_size or max(1, cut.segment_size // 5)
        self.n = size - self.q
        self.C, self.d = len(table.classes), table.X.shape[1]
        self._check(cut)
        self.T = self._length(cut)
        beyond = len(table.y) - size * (self.T + 1)
        self.left_out = beyond if beyond < size else 0  # rows that do not fill a last segment
        rng = np.random.default_rng(derive(seed, "split"))
        parts = np.array([rng.permutation(size) for _ in range(self.T + 1)])
        order = torch.from_numpy(parts + size * np.arange(self.T + 1)[:, None])  # [T + 1, size]
        self._X, self._y = torch.from_numpy(table.X), torch.from_numpy(table.y)
        if config.jitter:
            self._X = self._X * (1 + config.jitter * Draws(seed, "jitter").normal(*self._X.shape))
        self.unlabelled = order[1:, self.q :]  # [T, n] row numbers
        self.test = order[1:, : self.q]  # [T, q]
        self._gold = self._draw_gold(order[0], cut.gold_per_class)

    def _check(self, cut: Cut) -> None:
        """Every method needs rows on both sides of a segment, two classes, two segments."""
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

    def _draw_gold(self, segment: Tensor, per_class: int | None) -> Rows:
        """D from segment 0's rows [size], in the seed's own random order."""
        gold = self.config.gold
        rows = Rows(self._X[segment], self._y[segment])
        k = gold if isinstance(gold, int) else per_class if gold == "record" else None
        if k is None:
            rows = rows[: self.n]
        else:
            rows = rows[rank_in_class(torch.zeros(len(rows)), rows.y, self.C) < k]
        if missing := set(range(self.C)) - set(rows.y.tolist()):
            names = ", ".join(self.table.classes[c] for c in sorted(missing)[:10])
            raise UserError(
                f"{self.table.name} ({self.table.source}), seed {self.seed}: the gold set "
                f"({len(rows)} of the first {len(segment)} rows) has no row of class {names}; a "
                "class without a gold label can never be predicted. Raise dataset.segment_size, "
                "choose another dataset.order, or set stream.gold=N."
            )
        return rows

    def gold(self) -> Rows:
        """D, raw."""
        return self._gold

    def segment(self, t: int) -> Tensor:
        """X_t, raw [n, d]: the only thing about segment t that a method may see."""
        return self._X[self.unlabelled[t - 1]]

    def truth(self, t: int) -> Tensor:
        """The hidden labels of X_t [n]: for scoring, and for components declared privileged."""
        return self._y[self.unlabelled[t - 1]]

    def tests(self) -> tuple[Tensor, Tensor]:
        """All test parts, raw: X [T, q, d], y [T, q]."""
        return self._X[self.test], self._y[self.test]
